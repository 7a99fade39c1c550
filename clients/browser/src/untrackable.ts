/** What pages import. */
export { allow, Client, used } from "./client.js";
export type { Answered, Options, Outcome, Policy } from "./client.js";
export type { Post, Reply } from "./http.js";
export type { Preview } from "./preview.js";
export { Refused } from "./refused.js";
export { type Part, takePart } from "./take_part.js";
