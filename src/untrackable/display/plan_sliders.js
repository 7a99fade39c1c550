const slider = (name) => document.getElementById("set-" + name);
const count = (n) => n >= 1e15 ? n.toExponential(1) : n >= 1e6 ? new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3, compactDisplay: "long" }).format(n) : Math.round(n).toLocaleString("en");
const short = (x) => x === 0 ? "0" : x >= 1e-3 ? Number(x.toPrecision(3)).toString() : x.toExponential(1);
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
function redraw() {
  const { people, error } = chosen;
  const r = Number(slider("rounds").value), e = Number(slider("eps").value);
  for (const [name, text] of [["people", count(people)], ["rounds", grids.rounds[r].toLocaleString("en")], ["eps", short(grids.eps[e])], ["error", short(error)]]) {
    document.getElementById("said-" + name).textContent = text;
  }
  const errors = [], needed = [], tracking = [], body = document.createElement("tbody");
  for (const line of grids.lines) {
    grids.rounds.forEach((rounds, i) => {
      const unit = line.units[e][i];
      if (unit !== null) errors.push({ line: line.name, x: rounds, y: unit / Math.sqrt(people) });
    });
    grids.eps.forEach((eps, i) => {
      const unit = line.units[i][r];
      if (unit !== null) needed.push({ line: line.name, x: eps, y: Math.max(1, (unit / error) ** 2) });
    });
    const followed = line.followed[e][r];
    if (followed !== null) grids.reports[r].forEach((reports, i) => tracking.push({ line: line.name, x: reports, y: followed[i] }));
    const unit = line.units[e][r], row = body.insertRow();
    const reached = unit / Math.sqrt(people), most = unit === null ? 0 : followed[followed.length - 1];
    const met = reached <= error * (1 + 1e-12); // rounding only
    const cells = unit === null ? [line.name, "no", "–", "–", "–", line.why[e][r]] :
      [line.name, met ? "yes" : "no", about + short(reached), (grids.predicted ? about : "") + count(Math.ceil((unit / error) ** 2 * (1 - 1e-12))), (most > 0 ? "≤ " : "") + short(most), met ? "" : "The error is larger."];
    cells.forEach((text) => { row.insertCell().textContent = text; });
  }
  document.querySelector("#live tbody").replaceWith(body);
  for (const [name, rows] of [["errors", errors], ["people", needed], ["tracking", tracking]]) {
    const shown = [...new Set(rows.map((row) => row.line))];
    if (views[name]) views[name].data("rows", rows).signal("shown", shown).run();
    else {
      specs[name].datasets.rows = rows;
      specs[name].params.find((one) => one.name === "shown").value = shown;
    }
  }
}
for (const name of ["people", "rounds", "eps", "error"]) slider(name).addEventListener("input", redraw);
redraw();
