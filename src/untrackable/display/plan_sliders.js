const slider = (name) => document.getElementById("set-" + name);
const count = (n) => n >= 1e15 ? n.toExponential(1) : n >= 1e6 ? new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3, compactDisplay: "long" }).format(n) : Math.round(n).toLocaleString("en");
const often = (share) => share === 1 ? "all" : Math.abs(1 / share - Math.round(1 / share)) < 1e-9 ? "one in " + Math.round(1 / share).toLocaleString("en") : Number((100 * share).toPrecision(3)) + " %";
const short = (x) => x === 0 ? "0" : x >= 1e-4 ? Number(x.toPrecision(3)).toString() : x.toExponential(1);
// Bounds are rounded up, so that what is shown is still a bound.
const upper = (x) => { const unit = x > 0 ? 10 ** (Math.floor(Math.log10(x)) - (x >= 1e-4 ? 2 : 1)) : 1; return short(Math.ceil(x / unit - 1e-9) * unit); };
slider("rounds").max = grids.rounds.length - 1;
slider("eps").max = grids.eps.length - 1;
const chosen = { people: grids.start.people, error: grids.start.error };
for (const name of ["people", "error"]) {
  slider(name).value = Math.log10(chosen[name]);
  slider(name).addEventListener("input", () => { chosen[name] = 10 ** slider(name).value; });
}
slider("rounds").value = grids.start.rounds;
slider("eps").value = grids.start.eps;
document.getElementById("live-measure").textContent = grids.measure;
const about = grids.predicted ? "≈ " : "≤ ";
document.getElementById("live-error").textContent = grids.predicted ? "found from" : "largest error";
document.getElementById("live-certainty").textContent = grids.predicted
  ? "Errors, here the frequency from which on strings are found, and people needed are predicted (≈), not bounds; tracking is an upper bound."
  : "All are upper bounds.";
// The number of reports that an error bound counts on if people answer with probability share, and how many people it takes.
function counted(people, share, log) {
  if (share === 1 || log === null) return people * share;
  const missing = -Math.expm1(-log / people) / share;
  return missing < 1 ? Math.floor(log / -Math.log1p(-missing)) : 0;
}
const asking = (reports, share, log) => share === 1 || log === null ? reports / share : log / -Math.log1p(share * Math.expm1(-log / reports));
// The error of so many reports is the largest of its terms, or lies between two knots, on a line over one over the root.
const rooted = ({ reports, error }) => ({ x: 1 / Math.sqrt(reports), y: error });
const along = (from, to, part) => from + (to - from) * part;
const errorOf = ({ terms, knots }, reports) => {
  if (terms.length) return Math.max(...terms.map(({ hoeffding, bernstein, part, bias }) => bias + Math.min(hoeffding / Math.sqrt(reports), bernstein / Math.sqrt(reports) + part / reports)));
  const next = knots.findIndex((knot) => knot.reports >= reports * (1 - 1e-12)); // rounding only
  if (next < 0) return knots.length ? knots[knots.length - 1].error : Infinity;
  if (next === 0) return knots[0].reports <= reports * (1 + 1e-12) ? knots[0].error : Infinity;
  const [from, to] = [knots[next - 1], knots[next]].map(rooted);
  return along(from.y, to.y, Math.min(1, (from.x - 1 / Math.sqrt(reports)) / (from.x - to.x)));
};
// The number of reports for an error.
const reportsFor = ({ terms, knots }, error) => {
  if (terms.length) return Math.max(...terms.map(({ hoeffding, bernstein, part, bias }) => {
    const left = error - bias;
    return left > 0 ? Math.min(hoeffding / left, (bernstein + Math.sqrt(bernstein ** 2 + 4 * part * left)) / (2 * left)) ** 2 : Infinity;
  }));
  const next = knots.findIndex((knot) => knot.error <= error * (1 + 1e-12));
  if (next <= 0) return next < 0 ? Infinity : knots[0].reports;
  const [from, to] = [knots[next - 1], knots[next]].map(rooted);
  return from.y > to.y ? along(from.x, to.x, Math.min(1, (from.y - error) / (from.y - to.y))) ** -2 : knots[next].reports;
};
function redraw() {
  const { people, error } = chosen;
  const r = Number(slider("rounds").value), e = Number(slider("eps").value);
  for (const [name, text] of [["people", count(people)], ["rounds", grids.rounds[r].toLocaleString("en")], ["eps", short(grids.eps[e])], ["error", short(error)]]) {
    document.getElementById("said-" + name).textContent = text;
    slider(name).setAttribute("aria-valuetext", text);
  }
  const errors = [], needed = [], tracking = [], meeting = [], body = document.createElement("tbody");
  for (const line of grids.lines) {
    grids.rounds.forEach((rounds, i) => {
      const found = line.errors[e][i], reports = counted(people * line.counted, line.shares[e][i], line.log);
      const y = found !== null && reports > 0 ? errorOf(found, reports) : Infinity;
      if (Number.isFinite(y)) errors.push({ line: line.name, x: rounds, y });
    });
    grids.eps.forEach((eps, i) => {
      const found = line.errors[i][r], people = found === null ? Infinity : asking(reportsFor(found, error), line.shares[i][r], line.log) / line.counted;
      if (Number.isFinite(people)) needed.push({ line: line.name, x: eps, y: Math.max(1, people) });
    });
    const followed = line.followed[e][r];
    if (followed !== null) grids.reports[r].forEach((reports, i) => tracking.push({ line: line.name, x: reports, y: followed[i] }));
    const found = line.errors[e][r], row = body.insertRow(), share = line.shares[e][r];
    const reached = found === null ? Infinity : errorOf(found, counted(people * line.counted, share, line.log)), most = found === null ? 0 : followed[followed.length - 1];
    const enough = found === null ? Infinity : asking(reportsFor(found, error), share, line.log) / line.counted;
    const met = reached <= error * (1 + 1e-12); // rounding only
    const cells = found === null ? [line.name, "no", "–", "–", "–", "–", line.why[e][r]] :
      [line.name, met ? "yes" : "no", Number.isFinite(reached) ? about + upper(reached) : "–", Number.isFinite(enough) ? (grids.predicted ? about : "") + count(Math.ceil(enough * (1 - 1e-12))) : "–", often(share), (most > 0 ? "≤ " : "") + upper(most), met ? "" : "The error is larger."];
    cells.forEach((text) => { row.insertCell().textContent = text; });
    if (cells[1] === "yes") meeting.push(line.name);
  }
  document.querySelector("#live tbody").replaceWith(body);
  document.getElementById("live-verdict").textContent = meeting.length ? "These meet the goals: " + meeting.join(", ") + "." : "No mechanism meets these goals.";
  for (const [name, rows] of [["errors", errors], ["people", needed], ["tracking", tracking]]) {
    const shown = [...new Set(rows.map((row) => row.line)), ...(name === "tracking" ? ["tolerable limit"] : [])];
    if (views[name]) views[name].data("rows", rows).signal("shown", shown).run();
    else {
      specs[name].datasets.rows = rows;
      specs[name].params.find((one) => one.name === "shown").value = shown;
    }
  }
}
for (const name of ["people", "rounds", "eps", "error"]) slider(name).addEventListener("input", redraw);
redraw();
