/** A campaign: one question asked of everyone, as a public document that is named by its SHA-256. */

export interface Campaign {
  question: string;
  encoding: any;
  /** Fresh reports of a local mechanism, the base. */
  mechanism: { mechanism: "fresh"; base: any };
  first_round: number;
  round_seconds: number;
  rounds: number;
  /** Everybody answers once. `share` is the probability of having a turn at all, such as 1/2. */
  turns: { share: string; wipes: number };
  /** What the crowd adds is declared, and shown to people. This client relies on eps alone. */
  guarantee: { eps: number; crowd?: { eps: number; delta: number; reports: number } };
  /**
   * If the campaign relies on a crowd: the keys with which reports are sealed, and perhaps a relay that holds the
   * reports of each round, and releases them so many seconds after its end.
   */
  gateway?: { keys: { config: string; first_round: number }[]; relay?: { address: string; delay: number } };
  /** If each entitled person has one ballot: where it is issued, with which key, and until when. */
  ballots?: { expires: number; issuer: string; key: string };
  version: number;
}

/** A document that was checked before. */
export const parse = (document: string): Campaign => JSON.parse(document);

/** A fraction as documents write it, such as 1/20. */
export const fraction = (text: string): [numerator: bigint, denominator: bigint] => {
  const [one, other = 1] = text.split("/");
  return [BigInt(one), BigInt(other)];
};

/** The round at a time. Rounds before the first one are 0, -1, …, and those after the last one go on. */
export const roundAt = (asked: Campaign, now: number) =>
  Math.floor((now - asked.first_round) / asked.round_seconds) + 1;

/** The start of a round, in seconds since 1970. */
export const begins = (asked: Campaign, round: number) => asked.first_round + (round - 1) * asked.round_seconds;
