/** Checks of numbers in documents. */

export const whole = (number: unknown, low: number, high: number) =>
  Number.isInteger(number) && (number as number) >= low && (number as number) <= high;
export const within = (number: unknown, low: number, high: number) =>
  typeof number == "number" && number >= low && number <= high;
