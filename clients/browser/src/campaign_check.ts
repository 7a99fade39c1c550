/** Reads a campaign's document, and refuses one that is not valid or that this client does not know. */
import { type Campaign, fraction } from "./campaign.js";
import { canonical } from "./canonical_json.js";
import { keys, valuesOf } from "./encoding_check.js";
import type { views } from "./load_chunk.js";
import { whole, within } from "./numbers.js";
import { need } from "./refused.js";

/** The most slots that a client keeps or accounts for. */
const MOST_SLOTS = 1e6;
/** The most rounds of a campaign that ends. */
const MOST_ROUNDS = 1e5;
/** The largest number of wipes that a campaign declares. */
const MOST_WIPES = 100;

const FIELDS: Record<string, string> = {
  1: "encoding,first_round,guarantee,mechanism,question,round_seconds,rounds,version",
  2: "attendance,encoding,first_round,guarantee,mechanism,question,round_seconds,rounds,version",
  3: "attendance,encoding,first_round,gateway,guarantee,mechanism,question,round_seconds,rounds,version",
  4: "attendance,encoding,first_round,guarantee,mechanism,question,round_seconds,rounds,version",
  5: "attendance,encoding,first_round,gateway,guarantee,mechanism,question,round_seconds,rounds,version",
  deck: "bits,eps_report,mechanism,slots,when_empty,width",
  rnip: "bits,eps_report,mechanism,slots,width",
  bitwise: "eps_report,eps_state,mechanism",
};
/** The fields of a guarantee, by version. */
const GUARANTEE = [
  "",
  "delta,eps,gamma,tracking_delta,values",
  "delta,eps,gamma,recognition,tracking_delta,values",
  "crowd,delta,eps,gamma,recognition,tracking_delta,values",
  "delta,eps,gamma,recognition,tracking_delta,values,wipes",
  "crowd,delta,eps,gamma,recognition,tracking_delta,values,wipes",
];

/** Whether fractions are at most 1 in all. */
function atMostOne(texts: string[]): boolean {
  const found = texts.map(fraction);
  const whole = found.reduce((product, [, each]) => product * each, 1n);
  return found.reduce((sum, [one, other]) => sum + one * (whole / other), 0n) <= whole;
}

/** Refuse an encoding or a mechanism that this client does not know, or that is not valid. */
function checkAnswers({ encoding, mechanism: made }: Campaign): undefined {
  const values = valuesOf(encoding);
  need(values && values > 1n, "this client does not know the encoding");
  need(made && keys(made) == FIELDS[made.mechanism], "this client does not know the mechanism");
  need(
    within(made.eps_report, 2.2e-19, Number.MAX_VALUE) &&
      (made.mechanism == "bitwise"
        ? within(made.eps_state, 2.2e-19, Number.MAX_VALUE)
        : whole(made.bits, 1, 256) &&
          whole(made.width, 1, Math.min(made.bits, 8)) &&
          whole(made.slots, 1, MOST_SLOTS) &&
          /^(undefined|stop|replay)$/.test(made.when_empty)),
    "the campaign is not valid",
  );
  need(values <= 1n << BigInt(made.bits ?? 1), "the mechanism does not take all values");
}

/** Read a document. One that is not canonical, or that this client does not know, is refused. */
export async function parsed(text: string, load: typeof views): Promise<Campaign> {
  let found!: Campaign;
  try {
    found = JSON.parse(text);
  } catch {
    need(0, "the campaign is not JSON");
  }
  const { version, mechanism: made, guarantee, attendance, rounds } = found ?? {};
  need(
    canonical(found) == text && keys(found) == FIELDS[version],
    "the campaign is not a canonical document of version 1 to 5",
  );
  const problem = made?.eps_report ? checkAnswers(found) : (await load()).problem(found);
  need(!problem, problem!);
  need(
    whole(found.first_round, 0, 2 ** 40) &&
      whole(found.round_seconds, 1, 366 * 86400) &&
      (rounds === null || whole(rounds, 1, MOST_ROUNDS)) &&
      keys(guarantee) == GUARANTEE[version] &&
      /^(fixed|any)$/.test(guarantee.values) &&
      within(guarantee.eps, 0, Number.MAX_VALUE) &&
      within(guarantee.gamma, 0, Number.MAX_VALUE) &&
      within(guarantee.delta, 0, 1) &&
      within(guarantee.tracking_delta, 0, 1) &&
      (version < 4 || guarantee.wipes == "any" || whole(guarantee.wipes, 0, MOST_WIPES)) &&
      (version == 1 ||
        (attendance &&
          keys(attendance) == "one_network,participation,persistence,places" &&
          within(guarantee.recognition, 0, 1) &&
          whole(attendance.persistence, 1, 2 ** 53) &&
          whole(attendance.places.length, 2, 64) &&
          [attendance.participation, ...attendance.places].every(
            each => /^\d+(\/[1-9]\d*)?$/.test(each) && each.length < 41,
          ) &&
          !/^0/.test(attendance.participation) &&
          atMostOne([attendance.participation]) &&
          atMostOne(attendance.places))),
    "the campaign is not valid",
  );
  need(
    !attendance?.one_network,
    "the campaign is answered from one network only, and a browser does not know its network",
  );
  return found;
}
