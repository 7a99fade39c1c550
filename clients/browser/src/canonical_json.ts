/** The only text for some content: sorted keys, no spaces, and numbers as Python writes them. */
export const canonical = (data: unknown): string =>
  Array.isArray(data)
    ? `[${data.map(canonical)}]`
    : data && typeof data == "object"
      ? `{${Object.entries(data)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => JSON.stringify(key) + ":" + canonical(item))}}`
      : typeof data == "number"
        ? written(data)
        : JSON.stringify(data);

/** The fewest digits that read back as the same double: `0.0001`, but `1e-05`, and `1e+16`. */
function written(number: number): string {
  const [digits, exponent] = number.toExponential().split("e");
  return number && (+exponent < -4 || +exponent > 15)
    ? digits + "e" + exponent[0] + exponent.slice(1).padStart(2, "0")
    : number % 1 || Number.isSafeInteger(number)
      ? String(number)
      : number + ".0";
}
