/** Says what a client would send: a report in bytes and in words, when it leaves, and what it can tell. */
import { type Bytes, hex, number } from "./bytes.js";
import { begins, type Campaign } from "./campaign.js";
import type { Allowed, Ledger } from "./kept.js";

/** What would be sent for an answer. Nothing was stored or sent to find out. */
export interface Preview {
  question: string;
  /** A report about this answer, in hexadecimal. Its noise and its round are drawn for this look alone. */
  report: string;
  /** What this report says, in words. */
  says: string;
  /** When a report leaves, and what it can tell. */
  words: string[];
  /** What it takes of the person's budget. */
  budget: string;
  /** The most that all reports of this campaign may reveal. */
  eps_upper: number;
  /** What the policy leaves to further campaigns; negative if this one does not fit. */
  eps_left: number;
}

const HEADER = 21;
/** The number of bytes of a ballot that follow the answer. */
const BALLOT = 272;

/** The preview of a campaign, with this report. */
export function preview(
  asked: Campaign,
  body: Bytes,
  { accounts }: Ledger,
  policy: Allowed,
  id: string,
): Preview {
  const { eps } = asked.guarantee;
  const rest = crypto.getRandomValues(new Uint8Array(asked.ballots ? BALLOT : 0));
  const others = Object.entries(accounts).reduce((sum, [name, each]) => sum + (name == id ? 0 : each.eps), 0);
  const left = policy.eps - others - eps;
  return {
    question: asked.question,
    report: hex(body) + hex(rest),
    says: says(asked, number(body.slice(HEADER).reverse())),
    words: [sending(asked), ...relay(asked), ...ballot(asked), telling(asked)],
    budget: budget(eps, policy.eps, left),
    eps_upper: eps,
    eps_left: left,
  };
}

const UNITS: [number, string][] = [
  [604800, "week"],
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];
const many = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count == 1 ? "" : "s"}`;
const short = (value: number) => String(+value.toPrecision(4));

/** Several rounds, such as 12 weeks, or 12 periods of 2 weeks. */
function periods(rounds: number, seconds: number): string {
  const [unit, noun] = UNITS.find(([unit]) => seconds % unit == 0)!;
  return seconds == unit ? many(rounds, noun) : `${many(rounds, "period")} of ${many(seconds / unit, noun)}`;
}

const ballot = ({ ballots }: Campaign): string[] =>
  ballots
    ? [
        `You are counted once: ${new URL(ballots.issuer).host} gives you one ballot, and so learns that you take part. ` +
          "Nobody can tell whose ballot an answer shows.",
      ]
    : [];

const day = (seconds: number) =>
  new Date(1000 * seconds).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });

function sending(asked: Campaign): string {
  const { rounds, round_seconds, first_round, turns } = asked;
  const few = turns.share == "1" ? "" : ` Only a part of those asked answer at all: ${turns.share}, drawn in secret too.`;
  return (
    `One answer is sent, at a random moment in one of ${periods(rounds, round_seconds)}, drawn in secret, from ` +
    `${day(first_round)} to ${day(begins(asked, rounds + 1) - 1)}. In all others, nothing is sent.${few}`
  );
}

const relay = ({ guarantee: { crowd } }: Campaign): string[] =>
  crowd
    ? [
        "It is sealed and sent through a relay, which cannot read it, and the collector does not see who sent it. " +
          `Only rounds with at least ${crowd.reports.toLocaleString("en")} reports are published.`,
      ]
    : [];

function telling({ guarantee: { eps }, turns: { wipes } }: Campaign): string {
  if (!eps) return "It tells nothing about you but that somebody is there.";
  const again = wipes ? `, also if you delete what is stored ${wipes == 1 ? "once" : many(wipes, "time")} and answer again` : "";
  return (
    "Noise leaves everybody unsure of your answer: what is sent changes the odds of any suspicion by a factor of at most " +
    `${factor(eps)} (eps ${short(eps)}, upper)${again}.`
  );
}

/** e^eps with three digits, rounded up. */
function factor(eps: number): string {
  if (eps >= 20) return `e^${short(eps)}`;
  const found = Math.exp(eps) * (1 + 1e-12);
  const unit = 10 ** (Math.floor(Math.log10(found)) - 2);
  return short(Math.ceil(found / unit) * unit);
}

const budget = (eps: number, all: number, left: number) =>
  left < -1e-9 * all
    ? `It takes eps ${short(eps)}, which is more than is left of the ${short(all)} allowed for all campaigns together, so nothing is sent.`
    : `It takes eps ${short(eps)} of the ${short(all)} allowed for all campaigns together, and leaves ${short(Math.max(0, left))}.`;

/** What a report says. The answer itself is not in it for certain. */
function says({ encoding, mechanism: { base } }: Campaign, report: bigint): string {
  const { mechanism, eps, width = 1, values, size } = base;
  const single = !/^(choices|path|record)$/.test(encoding.type);
  const untrue = (others: number, own = 1) =>
    `about ${((100 * others) / (own * Math.exp(eps) + others)).toPrecision(2)} % of all reports`;
  switch (single || !values ? mechanism : "") {
    case "present":
      return "It says only that somebody is there.";
    case "randomized-response":
      return `It says “${label(encoding, Number(report))}”. On purpose, ${untrue(1)} say something untrue.`;
    case "subset-selection": {
      const named = Array.from({ length: values }, (_, i) => i).filter(i => (report >> BigInt(i)) & 1n);
      const names = named.map(i => `“${label(encoding, i)}”`).join(", ");
      return `It names ${size} of ${values} answers: ${names}. On purpose, ${untrue(values - size, size)} leave out the true one.`;
    }
    case "noisy-inner-product":
      return (
        `It names ${width == 1 ? "a random half" : width + " random halves"} of all possible answers, and says ` +
        `${width == 1 ? "" : "for each "}whether yours is in it. On purpose, ${untrue(2 ** width - 1)} say something untrue.`
      );
    case "one-bit-mean":
      return `It says ${report ? "“yes”" : "“no”"}, and nothing else: the larger the number, the more often “yes”, but never for certain.`;
    default:
      return "It says something about parts of your answer, drawn at random, and is often untrue on purpose.";
  }
}

/** The name of a value of an encoding. */
function label({ type, zero, one, names, low, high, edges, unit, below }: any, value: number): string {
  if (type == "bit") return value ? one : zero;
  if (names) return names[value] ?? "another";
  if (type == "hashed-strings") return `a text of group ${value}`;
  const place = value - +(below == "separate");
  const [first, last] = edges ? [edges[0], edges.at(-1)] : [low, high];
  const measure = unit ? " " + unit : "";
  if (place < 0) return `below ${first}${measure}`;
  if (place > (edges ? edges.length - 2 : high - low)) return `above ${last}${measure}`;
  return edges ? `${edges[place]} to ${edges[place + 1]}${measure}` : String(low + place);
}
