/** What programs import. */
import { homedir } from "node:os";
import { join } from "node:path";

export { sendInBackground } from "./background.js";
export { allow, Client, used } from "../../browser/src/client.js";
export type { Answered, Options, Outcome, Policy } from "../../browser/src/client.js";
export type { Post, Reply } from "../../browser/src/http.js";
export type { Preview } from "../../browser/src/preview.js";
export { Refused } from "../../browser/src/refused.js";

/** The usual folder for what a program of this name remembers about a person. */
export function folderOf(program: string): string {
  const { LOCALAPPDATA, XDG_STATE_HOME } = process.env;
  if (process.platform == "win32") return join(LOCALAPPDATA || join(homedir(), "AppData", "Local"), program);
  if (process.platform == "darwin") return join(homedir(), "Library", "Application Support", program);
  return join(XDG_STATE_HOME || join(homedir(), ".local", "state"), program);
}
