// Answers with the real client, and shows each report: its bytes, the moment, and what the collector says.
const found = id => document.getElementById(id);
const settings = JSON.parse(found("content").dataset.settings);
const SHOWN = 20;
const OUTCOMES = {
  accepted: "The collector says: stored, and it will be counted once (204).",
  refused: "The collector refused it. It is not sent again.",
  offline: "There is no network. It waits, and is sent with the same bytes if the round is not over by then.",
  "given up": "The collector could not be reached. This round is let go.",
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
  found("reports").children[SHOWN]?.remove();
  return words => (outcome.textContent = words);
}

const { Client } = await import(settings.file);
const client = new Client({ ...settings, consent: () => found("agree").checked });
let sending = false;

async function sendReports() {
  if (sending) return;
  sending = true;
  found("leave").disabled = false;
  try {
    for (;;) {
      const due = await client.due();
      const left = due - Date.now() / 1000;
      if (due === null) return say("No report is to come: you left, or the demonstration is over. Only what was spent is kept.");
      if (!found("agree").checked) return say("You do not agree any more, so nothing is sent.");
      if (left > 0) {
        say(`Your answer is stored in this browser. The next report goes out at ${clock(due)}, in ${Math.ceil(left)} s.`);
        await sleep(Math.min(left, 1));
        continue;
      }
      const body = await client.report();
      const tell = body ? shown(body) : () => {};
      tell(OUTCOMES[await client.send()]);
      await sleep(1);
    }
  } finally {
    sending = false;
  }
}

const told = work => work.catch(error => say(`The client refuses: ${error.message}.`));

found("form").addEventListener("submit", event => {
  event.preventDefault();
  if (!found("agree").checked) return say("Tick the box first: without your consent, the client does nothing.");
  say("Checking the campaign, and computing its guarantee again …");
  told(client.answer(found("choice").value).then(taken =>
    taken ? sendReports() : say("Your browser asks pages not to track you (Global Privacy Control), so the client does nothing.")));
});
found("agree").addEventListener("change", event => {
  if (event.target.checked) told(client.due().then(due => due !== null && sendReports()));
});
found("leave").addEventListener("click", () =>
  told(client.leave().then(() => {
    found("leave").disabled = true;
    say("You left: your answer is forgotten. Only what was spent is kept.");
  })));

// An earlier visit may have left an answer in this browser.
if ((await client.due()) !== null) {
  found("leave").disabled = false;
  if (!sending) say("Your earlier answer is stored in this browser. Tick the box and its reports go on, or leave.");
}
