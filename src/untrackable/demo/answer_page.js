// Answers with the real client, and shows its one report: its bytes, the moment, and what the collector says.
const found = id => document.getElementById(id);
const settings = JSON.parse(found("content").dataset.settings);
const OUTCOMES = {
  accepted: "The collector says: stored, and it will be counted once (204).",
  refused: "The collector refused it. It is not sent again.",
  offline: "There is no network. It waits, and is sent with the same bytes if the round is not over by then.",
  "given up": "The collector could not be reached. The turn is lost.",
  "no consent": "You do not agree any more. It is not sent.",
  nothing: "Another tab of this page sent it.",
};
const AGAIN = "Reload this page when all rounds are over, and another campaign begins.";

const say = words => (found("status").textContent = words);
const sleep = seconds => new Promise(resolve => setTimeout(resolve, 1000 * seconds));
const now = () => Date.now() / 1000;
const clock = seconds => new Date(1000 * seconds).toLocaleTimeString();
const hex = bytes => Array.from(bytes, each => each.toString(16).padStart(2, "0")).join("");
const roundAt = seconds => Math.floor((seconds - settings.first_round) / settings.round_seconds) + 1;
const begins = round => settings.first_round + (round - 1) * settings.round_seconds;

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

function showReport(body) {
  const round = new DataView(body.buffer, body.byteOffset).getUint32(1, true);
  const parts = {
    "format": body.slice(0, 1),
    [`round ${round}`]: body.slice(1, 5),
    "drawn once, so that it is counted once": body.slice(5, 21),
    "your answer in noise": body.slice(21),
  };
  const list = element("dl", "", ...Object.entries(parts).map(([name, bytes]) =>
    element("div", "", element("dt", name), element("dd", hex(bytes)))));
  list.className = "bytes";
  const outcome = element("p", "On its way …");
  const card = element("li", "", element("h3", `Round ${round}, ${clock(now())}: ${body.length} bytes`), list, outcome);
  card.className = "card";
  found("none").hidden = true;
  found("reports").replaceChildren(card);
  return words => (outcome.textContent = words);
}

const { Client } = await import(settings.file);
const client = new Client({ ...settings, consent: () => found("agree").checked });
let turn = null;
let sending = false;

function showRounds() {
  const round = roundAt(now());
  for (const [i, each] of [...found("rounds").children].entries()) {
    each.className = `${i + 1 < round ? "over" : ""} ${i + 1 == turn ? "turn" : ""}`;
    if (i + 1 == round) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}
setInterval(showRounds, 250);

async function answer() {
  for (;;) {
    const became = await client.answer(found("choice").value);
    if (became != "not yet") return became;
    const next = begins(roundAt(now()) + 1);
    while (now() < next) {
      if (!found("agree").checked) return "no consent";
      say(`This browser remembers the campaign, and nothing else yet. It joins in the next round, in ${Math.ceil(next - now())} s.`);
      await sleep(Math.min(1, next - now()));
    }
  }
}

async function sendReport() {
  if (sending) return;
  sending = true;
  found("leave").disabled = false;
  try {
    for (;;) {
      const due = await client.due();
      if (due === null) return say(`Done. This browser keeps only that it took part. ${AGAIN}`);
      if (!found("agree").checked) return say("You do not agree any more, so nothing is sent.");
      turn = roundAt(due);
      const left = due - now();
      if (left > 0) {
        say(`Your answer is stored in this browser, which has drawn round ${turn}. The report goes out at ${clock(due)}, in ${Math.ceil(left)} s.`);
        await sleep(Math.min(left, 1));
        continue;
      }
      const body = await client.report();
      const tell = body ? showReport(body) : () => {};
      tell(OUTCOMES[await client.send()]);
      await sleep(1);
    }
  } finally {
    sending = false;
    found("leave").disabled = (await client.due()) === null;
  }
}

const told = work => work.catch(error => say(`The client refuses: ${error.message}.`));

found("form").addEventListener("submit", event => {
  event.preventDefault();
  if (!found("agree").checked) return say("Tick the box first: without your consent, the client does nothing.");
  say("Checking the campaign, and computing its guarantee again …");
  told(answer().then(became => ({
    kept: sendReport,
    done: () => say(`This browser sends no report: it has taken part, or the round that it drew was over before it joined. ${AGAIN}`),
    "no consent": () => say("Nothing is sent: you do not agree, or your browser asks pages not to track you (Global Privacy Control)."),
  })[became]()));
});
found("agree").addEventListener("change", event => {
  if (event.target.checked) told(client.due().then(due => due !== null && sendReport()));
});
found("leave").addEventListener("click", () =>
  told(client.leave().then(() => {
    turn = null;
    found("leave").disabled = true;
    say("You left: your answer and your round are forgotten. Only that you took part is kept.");
  })));

// An earlier visit may have left an answer in this browser.
const kept = await client.due();
if (kept !== null) {
  turn = roundAt(kept);
  found("leave").disabled = false;
  if (!sending) say("Your answer is stored in this browser. Tick the box and it is sent in its round, or leave.");
}
