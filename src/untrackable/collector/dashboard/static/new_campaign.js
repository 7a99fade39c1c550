// Shows plans while somebody changes the form. Without this script, the button below the form does the same.
const form = document.getElementById("goals");
const state = document.getElementById("state");
const results = document.getElementById("results");
const section = document.getElementById("plans");
const WAIT = 400; // milliseconds after the last change
const AGAIN = 500;
let timer, asking, counting, shown = "";

// The newest question of a tab wins, so that two tabs do not stop each other.
const tab = Object.assign(document.createElement("input"), { type: "hidden", name: "tab" });
tab.value = crypto.getRandomValues(new Uint32Array(2)).join("-");
form.append(tab);

const fields = () => new URLSearchParams(new FormData(form));

function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

function showErrors(errors) {
  for (const told of form.querySelectorAll(".wrong")) {
    const name = told.id.slice(0, -"-error".length);
    const text = errors[name] ?? "";
    if (told.textContent !== text) told.textContent = text;
    document.getElementById(name)?.toggleAttribute("aria-invalid", false);
    if (text) document.getElementById(name)?.setAttribute("aria-invalid", "true");
  }
  document.getElementById("summary")?.remove();
}

function busy(begun) {
  clearInterval(counting);
  section.setAttribute("aria-busy", "true");
  say("Computing …");
  const clock = document.createElement("span");
  clock.setAttribute("aria-hidden", "true");
  state.append(clock);
  counting = setInterval(() => { clock.textContent = ` ${Math.round((Date.now() - begun) / 1000)} s`; }, 1000);
}

function idle(text) {
  clearInterval(counting);
  section.removeAttribute("aria-busy");
  say(text);
}

async function ask() {
  const body = fields();
  if (body.toString() === shown) return;
  asking?.abort();
  const mine = asking = new AbortController();
  busy(Date.now());
  try {
    for (;;) {
      const response = await fetch("/new/results", { method: "POST", body, signal: mine.signal });
      if (!response.ok) throw new Error(response.status);
      const found = await response.json();
      if (mine.signal.aborted) return;
      if (found.computing) { // Asking again waits for the same computation.
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
        if (mine.signal.aborted) return;
        continue;
      }
      showErrors(found.errors);
      const wrong = Object.keys(found.errors).length;
      if (found.html) results.innerHTML = found.html;
      shown = body.toString();
      idle(wrong ? "The fields in red need another look." : results.querySelector("strong")?.textContent ?? "");
      return;
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    idle("This could not be computed. Press the button to try again.");
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT);
});

// A slider stands below each number that has a wide range. It only sets the field, which can be typed as well.
for (const field of form.querySelectorAll("[data-slider]")) {
  const [low, high] = field.dataset.slider.split(" ").map(Number);
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: low, max: high, step: "any" });
  slider.setAttribute("aria-label", `${form.querySelector(`label[for="${field.id}"]`).textContent}, as a slider`);
  const whole = low >= 0;
  const follow = () => {
    const number = Number(field.value.replaceAll(",", ""));
    if (number > 0) slider.value = Math.log10(number);
    slider.setAttribute("aria-valuetext", field.value || "empty");
  };
  slider.addEventListener("input", () => {
    const digits = Number((10 ** slider.value).toPrecision(2));
    field.value = whole ? Math.max(1, Math.round(digits)).toLocaleString("en") : String(digits);
    slider.setAttribute("aria-valuetext", field.value);
  });
  slider.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    slider.value = Math.min(high, Math.max(low, Number(slider.value) + step));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("input", follow);
  field.after(slider);
  follow();
}

const again = form.querySelector("[data-again]");
const NEEDED = { categories: "names", choices: "names", record: "attributes" };
const startable = () => form.elements[NEEDED[form.elements.kind.value]]?.value.trim() !== "";
if (again) { // The preview is still being computed: ask for it again.
  busy(Date.now());
  setTimeout(() => form.requestSubmit(again), AGAIN);
} else if (results.querySelector(".lead")) shown = fields().toString();
else if (startable()) ask();
else say("What you will get appears while you fill in the form.");
