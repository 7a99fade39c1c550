/** A report on the wire: version, round, nonce and answer, in a fixed number of bytes (docs/wire-format.md). */
import { bytesOf, type Bytes } from "./bytes.js";

const little = (given: bigint | number, size: number) => bytesOf(given, size).reverse();

/** With ballots, `nonce` is the whole ballot. */
export const wire = (round: number, nonce: Bytes, report: bigint, reportBits: number): Bytes =>
  new Uint8Array([
    ...[1, ...little(round, 4), ...nonce.slice(0, 16)],
    ...[...little(report, Math.ceil(reportBits / 8)), ...nonce.slice(16)],
  ]);
