// Answers with the real client, and shows the report: its bytes, the moment, and what the collector says.
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

const say = words => (found("status").textContent = words);
const sleep = seconds => new Promise(resolve => setTimeout(resolve, 1000 * seconds));
const clock = seconds => new Date(1000 * seconds).toLocaleTimeString();
const hex = bytes => Array.from(bytes, each => each.toString(16).padStart(2, "0")).join("");

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

function shown(body) {
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
  const card = element("li", "", element("h3", `Round ${round}, ${clock(Date.now() / 1000)}: ${body.length} bytes`), list, outcome);
  card.className = "card";
  found("none").hidden = true;
  found("reports").prepend(card);
  return words => (outcome.textContent = words);
}

const { Client } = await import(settings.file);
const client = new Client({ ...settings, consent: () => found("agree").checked });
let busy = false;

/** When the round after the present one begins. */
const nextRound = () => {
  const passed = Date.now() / 1000 - settings.begins;
  return settings.begins + (Math.floor(passed / settings.seconds) + 1) * settings.seconds;
};

/** Count down to a time, as long as the visitor agrees. */
async function waited(time, words) {
  for (;;) {
    const left = time - Date.now() / 1000;
    if (!found("agree").checked) return say("You do not agree any more, so nothing is sent."), false;
    if (left <= 0) return true;
    say(words(Math.ceil(left)));
    await sleep(Math.min(left, 1));
  }
}

/** Answer, and answer again in the next round if the browser has to remember something first. */
async function answer(choice) {
  for (;;) {
    const outcome = await client.answer(choice);
    if (outcome == "no consent") say("Your browser asks pages not to track you (Global Privacy Control), so the client does nothing.");
    if (outcome == "done") say("Your turn in this campaign is over: it was taken, you left, or your browser drew a round that was over already. Load the page again in a while for a new campaign.");
    if (outcome != "not yet") return outcome == "kept";
    const words = left => `A browser joins only once it has remembered an earlier round. This one joins in ${left} s.`;
    if (!(await waited(nextRound() + 0.1, words))) return false;
  }
}

/** Send the report at its moment, and show it. */
async function sendReport() {
  found("leave").disabled = false;
  for (;;) {
    const due = await client.due();
    if (due === null) return say("No report is to come. Only what was spent is kept.");
    const round = Math.floor((due - settings.begins) / settings.seconds) + 1;
    const words = left => `Your answer is stored in this browser. It drew round ${round} of ${settings.rounds}: its report goes out at ${clock(due)}, in ${left} s.`;
    if (!(await waited(due, words))) return;
    const body = await client.report();
    const tell = body ? shown(body) : () => {};
    tell(OUTCOMES[await client.send()]);
    await sleep(1);
  }
}

const told = work => work.catch(error => say(`The client refuses: ${error.message}.`));

async function once(work) {
  if (busy) return;
  busy = true;
  await told(work());
  busy = false;
}

found("form").addEventListener("submit", event => {
  event.preventDefault();
  if (!found("agree").checked) return say("Tick the box first: without your consent, the client does nothing.");
  const choice = found("choice").value;
  if (busy) return void told(client.answer(choice));
  once(async () => (await answer(choice)) && sendReport());
});
found("agree").addEventListener("change", event => {
  if (event.target.checked) once(async () => (await client.due()) !== null && sendReport());
});
found("leave").addEventListener("click", () =>
  told(client.leave().then(() => {
    found("leave").disabled = true;
    say("You left: your answer is forgotten. Only what was spent is kept.");
  })));

// An earlier visit may have left an answer in this browser.
if ((await client.due()) !== null) {
  found("leave").disabled = false;
  if (!busy) say("Your earlier answer is stored in this browser. Tick the box and its report goes out at its time, or leave.");
}
