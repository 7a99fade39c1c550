/** Whether what reports are about is valid in a document. */
import { dividedBits, validParts } from "./divided_reports.js";
import { keys } from "./encoding_check.js";
import { localEps, whole } from "./numbers.js";
import { missOf } from "./view_reports.js";

const MOST_VIEWS = 4096;
/** The largest number of bits that a view shows. */
const LARGEST_VIEW = 24;
/** The largest number of entries of all views' tables together. */
const MOST_ENTRIES = 2 ** 25;
const LARGEST_WIDTH = 8;
/** The largest number of values of a set. */
const LARGEST_SET = 4096;
const FIELDS: Record<string, string> = {
  divided: "eps,mechanism,sizes,weights,widths",
  "noisy-inner-product": "bits,eps,mechanism,width",
  "one-bit-mean": "eps,mechanism,values",
  present: "mechanism",
  "randomized-response": "eps,mechanism",
  "subset-selection": "eps,mechanism,size,values",
  views: "bits,eps,mechanism,views,weights,width",
};

/** Whether this client knows the base. */
export const known = (base: any) => base?.mechanism in FIELDS && keys(base) == FIELDS[base.mechanism];

/** Whether the base's numbers are possible. */
export function valid(base: any): boolean {
  const { bits = 1, eps, mechanism, size, values, views, weights, width = 1 } = base;
  if (mechanism == "divided") return validParts(base);
  if (mechanism == "present") return true;
  if (mechanism == "subset-selection")
    return whole(values, 2, LARGEST_SET) && whole(size, 1, values - 1) && localEps(eps) && reveals(base);
  if (values) return whole(values, 2, 2 ** 32) && localEps(eps);
  const longest = views ? Math.max(...views.map((view: number[]) => view.length)) : bits;
  return (
    whole(bits, 1, 256) &&
    whole(width, 1, Math.min(LARGEST_WIDTH, longest)) &&
    localEps(eps, width) &&
    (!views ||
      (whole(views.length, 1, MOST_VIEWS) &&
        views.every(
          (view: number[]) =>
            Array.isArray(view) &&
            whole(view.length, 1, LARGEST_VIEW) &&
            view.every((position, i) => whole(position, i ? view[i - 1] + 1 : 0, bits - 1)),
        ) &&
        new Set(views.map(String)).size == views.length &&
        views.reduce((sum: number, view: number[]) => sum + 2 ** view.length, 0) <= MOST_ENTRIES &&
        weights.length == views.length &&
        weights.every((weight: unknown) => whole(weight, 1, 2 ** 32))))
  );
}

/** Whether sets with the value are more likely than sets without it. */
function reveals(base: any): boolean {
  const missed = missOf(base);
  return ((1n << 64n) - missed) * BigInt(base.values - base.size) > missed * BigInt(base.size);
}

/** The number of values that the base takes. */
export const capacity = (base: any) =>
  base.mechanism == "present"
    ? 1n
    : base.values
      ? BigInt(base.values)
      : 1n << BigInt(base.sizes ? dividedBits(base) : (base.bits ?? 1));
