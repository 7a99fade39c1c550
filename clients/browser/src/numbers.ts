/** Checks of numbers in documents. */

export const whole = (number: unknown, low: number, high: number) =>
  Number.isInteger(number) && (number as number) >= low && (number as number) <= high;
export const within = (number: unknown, low: number, high: number) =>
  typeof number == "number" && number >= low && number <= high;
/** Whether an eps is large enough that answers of this many bits are not pure noise. */
export const localEps = (eps: unknown, width = 1) =>
  within(eps, (2.2e-19 * 4 ** width) / (4 * (2 ** width - 1)), Number.MAX_VALUE);
