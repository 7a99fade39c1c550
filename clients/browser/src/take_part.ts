/** One call for any number of campaigns: one policy, one consent, and an answer to each. */
import { allow, Client, type Options, type Outcome } from "./client.js";
import { objects } from "./environment.js";
import { consent } from "./load_chunk.js";

/** What a page gives for all campaigns. Without `consent`, the element `<untrackable-consent>` asks the person. */
export interface Part extends Omit<Options, "campaign"> {
  /** The answer to each campaign, by its id: a value, `used`, or a function that returns one. */
  answers: Record<string, unknown>;
  /** Called with the outcome of each report. */
  told?: (campaign: string, outcome: Outcome) => void;
}

/** The clients by campaign, once the person has decided. If some campaigns are refused, the others go on. */
export async function takePart({ answers, told, ...given }: Part): Promise<Record<string, Client>> {
  const options = { ...given };
  const clients: Record<string, Client> = {};
  for (const campaign in answers)
    clients[campaign] = new Client({ ...given, campaign, consent: () => options.consent!(campaign) });
  const answer = async (id: string) => {
    const raw = answers[id];
    return typeof raw == "function" ? raw() : raw;
  };
  const running = new Set<string>();
  const start = async (ids: string[], raise?: boolean) => {
    let refusal;
    if (raise) await allow(given.policy, given);
    for (const id of ids) {
      try {
        await clients[id].answer(await answer(id));
        if (running.has(id)) continue;
        running.add(id);
        // A run that failed ends quietly, and the next start begins another one.
        const ended = () => running.delete(id);
        clients[id].run(outcome => told?.(id, outcome)).then(ended, ended);
      } catch (error) {
        refusal ??= error;
      }
    }
    if (refusal) throw refusal;
  };
  if (objects()) return clients;
  if (given.consent) await start(Object.keys(clients));
  else {
    const { agreed, ask } = await consent();
    options.consent = agreed;
    await ask(clients, answer, start);
  }
  return clients;
}
