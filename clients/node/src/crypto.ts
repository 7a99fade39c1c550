/** Node.js 18 has no global crypto. */
export { webcrypto as crypto } from "node:crypto";
