/** What a client keeps: one ledger for all campaigns, and the state of each one until its turn is over. */
import type { Bytes } from "./bytes.js";
import type { Answers, Turn } from "./turn.js";

/** Where a client keeps things: everything in one place, in transactions, and under locks that others respect. */
export interface Storage {
  /** Hold a lock of this name while some work is done. */
  locked<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** The ledger and the state of one campaign. */
  read(id: string): Promise<[Ledger, State?]>;
  /** Replace both at once, and wait until they are on disk; without a state, the one before is forgotten. */
  write(ledger: Ledger, id: string, state?: State): Promise<unknown>;
}
/** Which storage it is: programs name a folder, and pages have that of their origin. */
export interface Place {
  folder?: string;
}
/** What a person allows, all campaigns of the origin together. */
export interface Allowed {
  eps: number;
  delta: number;
  /** The most campaigns that begin within any 365 days. */
  turns_a_year: number;
  /** Addresses of relays that the person trusts not to work with any collector. */
  relays: string[];
}
/** A campaign that was joined: what it may reveal, from when to when it lasts, and whether its turn is over. */
export interface Account {
  eps: number;
  first: number;
  end: number;
  done: boolean;
}
export interface Ledger {
  policy?: Allowed;
  accounts: Record<string, Account>;
}
/** A report in the bytes that are sent, and the progress of sending it. */
export interface Sealed {
  body: Bytes;
  /** The time of the first attempt. */
  since: number | null;
  tries: number;
}
/** What is kept of one campaign until its turn is over. */
export interface State extends Partial<Turn>, Answers {
  /** The document; empty if it was refused at once. */
  campaign: string;
  /** Why it was refused, and by which page. */
  refused?: string;
  page?: string;
  /** Before joining: the round in which the person was first asked. */
  seen?: number;
  /** Before joining, if the campaign has ballots: the request for one follows from this secret. */
  secret?: Bytes;
  /** The days of use, counted from 1970. */
  days?: number[];
  sealed?: Sealed;
}
