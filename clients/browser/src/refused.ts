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

/** Refuse unless something holds. */
export function need(holds: unknown, why: string): asserts holds {
  if (!holds) throw new Refused(why);
}
