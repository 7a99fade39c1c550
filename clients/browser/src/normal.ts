/** The normal distribution, to about fourteen digits. */

/** erfc(x), by its series around 0 or by its continued fraction; both are sums or ratios of positive numbers. */
export function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let n = 1; term > sum * 2 ** -54; n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let fraction = x;
  for (let n = 120; n; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

/** The number that a normal one is below with this probability: Newton's steps on the logarithm, a concave one. */
export function quantile(chance: number): number {
  if (chance > 0.5) return -quantile(1 - chance);
  let x = -Math.sqrt(-2 * Math.log(chance));
  for (let i = 0; i < 50; i++) {
    const below = erfc(-x * Math.SQRT1_2) / 2;
    const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    const step = (Math.log(chance / below) * below) / density;
    x += step;
    if (Math.abs(step) < 1e-15 * Math.abs(x)) break;
  }
  return x;
}
