const slider = (name) => document.getElementById("set-" + name);
const count = (n) => n >= 1e15 ? n.toExponential(1) : n >= 1e6 ? new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3, compactDisplay: "long" }).format(n) : Math.round(n).toLocaleString("en");
const short = (x) => x === 0 ? "0" : x >= 1e-3 ? Number(x.toPrecision(3)).toString() : x.toExponential(1);
slider("rounds").max = grids.rounds.length - 1;
slider("eps").max = grids.eps.length - 1;
slider("people").value = Math.log10(grids.start.people);
slider("error").value = Math.log10(grids.start.error);
slider("rounds").value = grids.start.rounds;
slider("eps").value = grids.start.eps;
document.getElementById("live-measure").textContent = grids.measure;
function redraw() {
  const people = 10 ** slider("people").value, error = 10 ** slider("error").value;
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
    const cells = unit === null ? [line.name, "–", "–", "–", "no: " + line.why] :
      [line.name, "≤ " + short(unit / Math.sqrt(people)), count((unit / error) ** 2), (followed[followed.length - 1] > 0 ? "≤ " : "") + short(followed[followed.length - 1]), unit / Math.sqrt(people) <= error ? "yes" : "no"];
    cells.forEach((text) => { row.insertCell().textContent = text; });
  }
  document.querySelector("#live tbody").replaceWith(body);
  for (const [name, rows] of [["errors", errors], ["people", needed], ["tracking", tracking]]) {
    if (views[name]) views[name].data("rows", rows).run();
    else specs[name].datasets.rows = rows;
  }
}
for (const name of ["people", "rounds", "eps", "error"]) slider(name).addEventListener("input", redraw);
redraw();
