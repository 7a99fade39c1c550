/** The client does not do what it was asked, and says why. The words never contain a person's value. */
export class Refused extends Error {
  /** A passing refusal may be otherwise at the next visit. */
  constructor(
    why: string,
    readonly passing = false,
  ) {
    super(why);
  }
}

/** What a chunk found. If it refuses, that is words, because its class of refusals is not the one that pages know. */
export function told<T>(found: T | string): T {
  need(typeof found != "string", found as string);
  return found as T;
}

/** Refuse unless something holds. */
export function need(holds: unknown, why: string): asserts holds {
  if (!holds) throw new Refused(why);
}
