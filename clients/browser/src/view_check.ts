/** Whether what reports are about is valid in a document, and what one report reveals. */
import type { Fraction } from "./campaign.js";
import { keys } from "./encoding_check.js";
import { lieThreshold } from "./exact.js";
import { response } from "./kept_bit.js";
import { type Law, mass, mixed, onStep } from "./loss_law.js";
import { whole, within } from "./numbers.js";
import { innerProductLaw } from "./report_laws.js";
import { basesOf } from "./view_reports.js";

const MOST_VIEWS = 4096;
/** The largest number of bits that a view shows. */
const LARGEST_VIEW = 24;
/** The largest number of entries of all views' tables together. */
const MOST_ENTRIES = 2 ** 25;
const LARGEST_WIDTH = 8;
const FIELDS: Record<string, string> = {
  views: "bits,eps,mechanism,views,weights,width",
  "one-bit-mean": "eps,mechanism,values",
};

/** Whether this client knows the base. */
export const known = (base: any) => base?.mechanism in FIELDS && keys(base) == FIELDS[base.mechanism];

/** Whether the base's numbers are possible. */
export function valid({ bits, eps, values, views, weights, width }: any): boolean {
  if (!views) return whole(values, 2, 2 ** 32) && within(eps, 2.2e-19, Number.MAX_VALUE);
  const longest = Math.max(...views.map((view: number[]) => view.length));
  const symbols = 2 ** width;
  return (
    whole(bits, 1, 256) &&
    whole(views.length, 1, MOST_VIEWS) &&
    views.every(
      (view: number[]) =>
        Array.isArray(view) &&
        whole(view.length, 1, LARGEST_VIEW) &&
        view.every((position, i) => whole(position, i ? view[i - 1] + 1 : 0, bits - 1)),
    ) &&
    new Set(views.map(String)).size == views.length &&
    views.reduce((sum: number, view: number[]) => sum + 2 ** view.length, 0) <= MOST_ENTRIES &&
    weights.length == views.length &&
    weights.every((weight: unknown) => whole(weight, 1, 2 ** 32)) &&
    whole(width, 1, Math.min(LARGEST_WIDTH, longest)) &&
    within(eps, (2.2e-19 * symbols ** 2) / (4 * (symbols - 1)), Number.MAX_VALUE)
  );
}

/** The number of values that the base takes. */
export const capacity = ({ bits, values }: any) => (bits ? 1n << BigInt(bits) : BigInt(values));

/** The loss of one report: a mixture over views, for two values that differ in every one; or of one noisy bit. */
export function oneReport(base: any): Law {
  if (!base.views) return response(lieThreshold(base.eps, 2n));
  const bases = basesOf(base);
  const weights: Record<number, number> = {};
  bases.forEach(({ bits }, i) => (weights[bits] = (weights[bits] ?? 0) + base.weights[i]));
  const total = base.weights.reduce((sum: number, each: number) => sum + each, 0);
  const laws = Object.entries(weights).map(([bits, weight]): [bigint, Law] => [
    mass(BigInt(weight), BigInt(total)),
    innerProductLaw(bases.find(each => each.bits == +bits)),
  ]);
  if (laws.length == 1) return laws[0][1];
  const step = Math.max(...laws.map(([, law]) => law.step));
  return mixed(laws.map(([share, law]) => [share, onStep(law, step)]));
}

/** The probability that two values that differ in every view have different answers, if answers have one bit. */
export function differing(base: any): Fraction {
  let [one, other]: Fraction = base.views ? [0n, 1n] : [1n, 1n];
  base.views?.forEach(({ length }: number[], i: number) => {
    const lists = (1n << BigInt(length)) - 1n;
    const own = (1n << BigInt(length - 1)) * BigInt(base.weights[i]);
    if (other % lists) [one, other] = [one * lists, other * lists];
    one += own * (other / lists);
  });
  const total = base.weights?.reduce((sum: bigint, each: number) => sum + BigInt(each), 0n) ?? 1n;
  return [one, other * total];
}
