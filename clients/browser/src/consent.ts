/** The element `<untrackable-consent>`: it asks a person once, in plain words, and remembers what they said. */
import type { Client } from "./client.js";
import type { Preview } from "./preview.js";

const NAME = "untrackable-consent";
const KEY = "untrackable";

const STYLE = `
:host {
  --back: var(--untrackable-background, Canvas);
  --ink: var(--untrackable-color, CanvasText);
  --line: var(--untrackable-border, color-mix(in srgb, var(--ink) 45%, var(--back)));
  --round: var(--untrackable-radius, .5rem);
  display: block;
  box-sizing: border-box;
  max-width: var(--untrackable-width, 40rem);
  padding: 1.25rem;
  border: 1px solid var(--line);
  border-radius: var(--round);
  background: var(--back);
  color: var(--ink);
  font: var(--untrackable-font, 1rem/1.5 system-ui, sans-serif);
}
:host([hidden]) { display: none }
:host([floating]) { position: fixed; inset: auto 1rem 1rem; z-index: 9999; max-height: 85vh; overflow: auto; margin: auto }
h2, h3, p, ul { margin: 0 0 .75rem; text-wrap: pretty }
h2 { font-size: 1.25em; line-height: 1.25 }
h3 { font-size: 1em }
ul { padding: 0 0 0 1.1em }
li { margin: .25rem 0 }
nav { display: flex; flex-wrap: wrap; gap: .5rem }
:host([floating]) nav { position: sticky; bottom: -1.25rem; margin: 0 -1.25rem -1.25rem; padding: .75rem 1.25rem 1.25rem; background: var(--back) }
button {
  flex: 1 1 8rem;
  min-height: 2.75rem;
  padding: .25rem 1rem;
  border: 1px solid var(--ink);
  border-radius: var(--round);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}
button:hover { background: color-mix(in srgb, var(--ink) 10%, var(--back)) }
:focus-visible { outline: 3px solid var(--untrackable-accent, Highlight); outline-offset: 2px }
[role=group] { margin: 1.25rem 0 }
code { overflow-wrap: anywhere; font-size: .875em }
:last-child { margin-bottom: 0 }
`;

type Said = Record<string, boolean>;

/** What the person said to each campaign. */
function said(): Said {
  try {
    return JSON.parse(localStorage.getItem(KEY)!) ?? {};
  } catch {
    return {};
  }
}

/** Whether the person agreed to a campaign. */
export const agreed = (campaign: string): boolean => said()[campaign] === true;

/** A new element with these properties and children. */
function made<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  given: Record<string, unknown>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(given))
    if (name.startsWith("on")) (found as any)[name] = value;
    else if (value !== false) found.setAttribute(name, value === true ? "" : String(value));
  found.append(...children);
  return found;
}

class Consent extends HTMLElement {
  /** Ask about these campaigns, or show what was said; `decide` is told the answer. */
  show(looks: Preview[], state: boolean | undefined, decide: (yes: boolean) => Promise<string>): void {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const status = made("p", { role: "status", tabindex: -1 });
    const details = made(
      "div",
      { id: "look", role: "group", "aria-label": "What is sent", hidden: true, tabindex: -1 },
      ...looks.flatMap(({ question, says, report, budget }) => [
        made("h3", {}, looks[1] ? question : "What is sent"),
        made("p", {}, says),
        made("p", {}, "The bytes, with noise for this look only: ", made("code", {}, report)),
        made("p", {}, budget),
      ]),
    );
    const button = (words: string, onclick: (this: HTMLElement) => unknown, more = {}) =>
      made("button", { type: "button", onclick, ...more }, words);
    const choice = (words: string, yes: boolean) =>
      button(words, async () => {
        root.querySelector("section")!.replaceChildren(status);
        status.focus();
        status.textContent = await decide(yes);
        if (this.hasAttribute("floating")) status.after(button("Close", () => this.remove()));
      });
    root.replaceChildren(
      made(
        "section",
        { "aria-labelledby": "head" },
        made(
          "h2",
          { id: "head" },
          state === undefined ? "May we ask you once?" : state ? "You take part" : "You do not take part",
        ),
        made("slot", {}),
        ...looks.flatMap(({ question, words }) => [
          made("h3", {}, question),
          made("ul", {}, ...words.map(each => made("li", {}, each))),
        ]),
        made("p", {}, "If you stop, this browser forgets your answer and does not answer later."),
        details,
        made(
          "nav",
          { "aria-label": "Your choice" },
          ...(state ? [] : [choice("Take part", true)]),
          ...(state === false ? [] : [choice(state ? "Stop" : "No", false)]),
          button(
            "What is sent?",
            function () {
              details.hidden = !details.hidden;
              this.setAttribute("aria-expanded", String(!details.hidden));
              if (!details.hidden) details.focus();
            },
            { "aria-expanded": "false", "aria-controls": "look" },
          ),
        ),
      ),
    );
    this.hidden = false;
  }
}

/**
 * Ask the person about campaigns to which they said neither yes nor no, and start those to which they say or said yes.
 *
 * The page's element asks, or a new one at the bottom of the window. With the attribute `settings`, it also shows what
 * was said before, so that the person can change it.
 */
export async function ask(
  clients: Record<string, Client>,
  answer: (campaign: string) => Promise<unknown>,
  start: (campaigns: string[], raise?: boolean) => Promise<void>,
): Promise<void> {
  customElements.get(NAME) ?? customElements.define(NAME, Consent);
  const ids = Object.keys(clients);
  const before = ids.filter(agreed);
  // A refusal of one of them does not keep others from being asked about.
  let refusal = await start(before).then(
    () => undefined,
    (error: unknown) => error,
  );
  const open = ids.filter(id => !(id in said()));
  const found = document.querySelector<Consent>(NAME);
  const about = open.length || !found?.hasAttribute("settings") ? open : ids;
  const looks = await Promise.all(about.map(async id => clients[id].preview(await answer(id))));
  const left = looks.filter(each => each !== null);
  if (left.length) {
    const element = found ?? document.body.appendChild(made(NAME as any, { floating: true }) as Consent);
    await new Promise<void>((resolve, reject) => {
      element.show(left, open.length ? undefined : !!before.length, async yes => {
        try {
          const decided = Object.fromEntries(about.map(id => [id, yes]));
          localStorage.setItem(KEY, JSON.stringify({ ...said(), ...decided }));
          // The person means the policy of now, also if it allows more than the one before.
          if (yes) await start(ids.filter(agreed), true);
          else await Promise.all(before.filter(id => about.includes(id)).map(id => clients[id].leave()));
          refusal = undefined;
          resolve();
          return yes ? "Thank you. You take part." : "Nothing is sent, and you are not asked again.";
        } catch (error: any) {
          reject(error);
          return `Nothing is sent: ${error.message}.`;
        }
      });
      if (!open.length) resolve();
    });
  }
  if (refusal) throw refusal;
}
