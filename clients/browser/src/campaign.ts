/** A campaign: one question asked of everyone, as a public document that is named by its SHA-256. */
import type { Law } from "./loss_law.js";

export type Fraction = [numerator: bigint, denominator: bigint];
export type Mechanism =
  | {
      mechanism: "deck";
      bits: number;
      slots: number;
      eps_report: number;
      when_empty: "stop" | "replay";
      width: number;
    }
  | { mechanism: "rnip"; bits: number; slots: number; eps_report: number; width: number }
  | { mechanism: "bitwise"; eps_state: number; eps_report: number }
  | { mechanism: "dealt"; base: any; slots: number; when_empty: "stop" | "replay" }
  | { mechanism: "faded"; local: any; eps: number; delta: number; power: number; scale: number };
/** How much all reports together may reveal. */
export interface Limits {
  eps: number;
  delta: number;
  gamma: number;
  tracking_delta: number;
  /** How often an observer of two places recognises a person among 1,000 by attendance and reports. */
  recognition?: number;
}
/** What a person allows, all campaigns together. */
export interface Allowed extends Limits {
  recognition: number;
  /** The limits for an observer who sees everybody's reports and does not know who sent which. */
  crowd_eps: number;
  crowd_delta: number;
  /** Addresses of relays that the person trusts not to work with any collector. */
  relays: string[];
}
export interface Campaign {
  question: string;
  encoding: any;
  mechanism: any;
  first_round: number;
  round_seconds: number;
  rounds: number | null;
  guarantee: Limits & {
    values: "fixed" | "any";
    crowd?: { eps: number; delta: number; people: number };
    /** How often a person's storage may be wiped so that the guarantee still holds. */
    wipes?: number | "any";
  };
  attendance?: { one_network: boolean; participation: string; persistence: number; places: string[] };
  /** The keys with which reports are sealed, if the campaign relies on a crowd. */
  gateway?: { keys: { config: string; first_round: number }[] };
  version: number;
  /** What a chunk adds to the document: the loss of one report, or of all up to a round if they fade. */
  one?: Law;
  faded?: (last: number | null) => Law;
}

export const LAST_ROUND = 2 ** 32 - 1;
/** A fraction as documents write it, such as 1/20. */
export const fraction = (text: string): Fraction => {
  const [one, other = "1"] = text.split("/");
  return [BigInt(one), BigInt(other)];
};

/** How often people answer, and where; every round from two places if the campaign does not say. */
export const attending = ({ attendance }: Campaign) =>
  attendance ?? { participation: "1", persistence: 1, places: ["1/2", "1/2"] };

/** The last round that has begun; 0 if none has. */
export const lastBegun = (asked: Campaign, now: number) =>
  Math.max(0, Math.floor((now - asked.first_round) / asked.round_seconds) + 1);

/** The start of a round, in seconds since 1970. */
export const begins = (asked: Campaign, round: number) => asked.first_round + (round - 1) * asked.round_seconds;
