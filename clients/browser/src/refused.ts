/** The client does not do what it was asked, and says why. The words never contain a person's value. */
export class Refused extends Error {}

/** Refuse unless something holds. */
export function need(holds: unknown, why: string): asserts holds {
  if (!holds) throw new Refused(why);
}
