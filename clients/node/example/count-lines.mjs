#!/usr/bin/env node
/**
 * Counts lines, and asks once on which system it runs: only people who switch it on, and after a look at what is sent.
 *
 *     count-lines FILE…             counts the lines of files
 *     count-lines sharing           says whether this program shares anything, and what that is
 *     count-lines sharing preview   shows what would be sent
 *     count-lines sharing on|off    takes part, or leaves
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, folderOf, Refused, sendInBackground } from "untrackable-node";

const HOME = process.env.COUNT_LINES_HOME ?? folderOf("count-lines");
const AGREED = join(HOME, "sharing-is-on");
/** The person's word, which is their choice alone and is looked at before anything is stored or sent. */
const consent = () => {
  try {
    return readFileSync(AGREED, "utf8") == "yes";
  } catch {
    return false;
  }
};

/** A program that is released has its collector and its campaign here. */
const options = {
  server: process.env.COUNT_LINES_COLLECTOR ?? "https://collect.example",
  campaign: process.env.COUNT_LINES_CAMPAIGN ?? "0".repeat(64),
  policy: { eps: 2 },
  folder: join(HOME, "answers"),
  consent,
};
const client = new Client(options);

/** Answer, and let another process send the report if it is due. This program works without either. */
async function share() {
  try {
    await client.answer(process.platform);
    await sendInBackground(options);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (process.env.COUNT_LINES_DEBUG) console.error(`Nothing is shared: ${error.message}.`);
  }
}

async function preview() {
  const look = await client.preview(process.platform);
  if (!look) return console.log("Nothing is sent: you said so (DO_NOT_TRACK), a machine runs this (CI), or it is over.");
  console.log([`The question: ${look.question}`, ...look.words, look.budget].join("\n"));
  console.log(`\nFor example: ${look.report}\n${look.says}`);
}

async function sharing(command) {
  switch (command) {
    case "on":
      mkdirSync(HOME, { recursive: true, mode: 0o700 });
      writeFileSync(AGREED, "yes");
      await share();
      return console.log("Thank you. To stop: count-lines sharing off");
    case "off":
      rmSync(AGREED, { force: true });
      await client.leave();
      return console.log("Nothing is sent any more.");
    case "preview":
      return preview();
    default:
      console.log(consent() ? "Sharing is on." : "Sharing is off. To see what it would send: count-lines sharing preview");
  }
}

const [first, ...rest] = process.argv.slice(2);
if (first == "sharing") {
  try {
    await sharing(...rest);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.error(`This does not work now: ${error.message}.`);
    process.exitCode = 1;
  }
} else {
  for (const file of [first, ...rest].filter(Boolean))
    console.log(`${readFileSync(file, "utf8").split("\n").length - 1} ${file}`);
  await share();
}
