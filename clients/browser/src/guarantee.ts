/**
 * What campaigns reveal together, as upper bounds in whole numbers: privacy, tracking and recognition. It is the
 * arithmetic of `untrackable/accounting/client_check.py` and `untrackable/client/ledger.py`.
 */
import { atTheSameTimes, blocks, mostReports, oneStay, recognition } from "./attendance.js";
import { type Allowed, attending, type Campaign, fraction, LAST_ROUND, type Limits } from "./campaign.js";
import * as keptBit from "./kept_bit.js";
import { composed, delta, type Law, power, STEPS } from "./loss_law.js";
import { lieOf } from "./mechanisms.js";
import { changing, privacy, tracking } from "./report_laws.js";

/** A campaign, and how many rounds each of its states may answer; null means without end. */
export interface Charged {
  asked: Campaign;
  rounds: (number | null)[];
  /** The rounds that all of its states answer together, if that is not the sum. */
  attended?: number | null;
  /** The last round of all states. */
  last: number | null;
}

/**
 * A campaign with the rounds of the lives that the ledger knows. Where the campaign declares wipes, the ledger may have begun
 * after one. Then the campaign counts as a whole, as its guarantee does, with one more state for each earlier life.
 */
export function charge(asked: Campaign, lives: (number | null)[], last = total(lives)): Charged {
  const { wipes } = asked.guarantee;
  if (!wipes) return { asked, rounds: lives, last };
  const states = oncePerRound(asked) ? 1 : (wipes as number) + lives.length;
  return { asked, rounds: Array(states).fill(asked.rounds), attended: asked.rounds, last: asked.rounds };
}

/** Whether each round has a report of its own, whichever state makes it. */
const oncePerRound = (asked: Campaign) => asked.mechanism.when_empty == "stop";

/** What reports of a campaign that relies on a crowd reveal to somebody who does not know who sent which. */
export type CrowdLaw = (asked: Campaign, reports: number | null) => Law;

/** The step on which attendance and reports are composed. */
const ATTENDANCE_STEP = 2 ** -8;
/** The probability with which there are more reports than are counted. */
const MISSED = 1e-9;

/** The first limit that these campaigns exceed together, if any. `hidden` is needed if one relies on a crowd. */
export function exceeded(charged: Charged[], limits: Allowed, hidden?: CrowdLaw): string | undefined {
  const { eps, delta, crowd_eps, crowd_delta } = limits;
  if (privacyDelta(charged, eps) > delta) return "delta";
  // Without a crowd, both observers see the same.
  const other = hidden || crowd_eps < eps || crowd_delta < delta;
  return other && privacyDelta(charged, crowd_eps, hidden) > crowd_delta
    ? "crowd_delta"
    : tooVisible(charged, limits);
}

/** The limit that a campaign declares and this client cannot confirm, if any. */
export function unconfirmed(asked: Campaign, hidden?: CrowdLaw): string | undefined {
  const { eps, delta, crowd, wipes } = asked.guarantee;
  if (wipes == "any" && !oncePerRound(asked)) return "wipes";
  // What all reports for ever reveal is sometimes known more sharply than what those of some rounds do.
  const everyWay = [asked.rounds, null].map(rounds => privacyDelta([charge({ ...asked, rounds }, [rounds])], eps));
  if (Math.min(...everyWay) > delta) return "delta";
  return crowd && privacyDelta([charge(asked, [asked.rounds])], crowd.eps, hidden) > crowd.delta
    ? "delta in the crowd"
    : tooVisible([charge(asked, [asked.rounds])], asked.guarantee);
}

/** The limit on tracking or on recognition that is exceeded, if any. */
function tooVisible(charged: Charged[], limits: Limits): string | undefined {
  const { gamma, tracking_delta, recognition = 1 } = limits;
  if (trackingDelta(charged, gamma) > tracking_delta) return "tracking_delta";
  if (recognition < 1 && recognised(charged) > recognition) return "recognition";
}

/** Delta at eps of all reports. With `hidden`, those that a crowd hides count with what they reveal there. */
export function privacyDelta(charged: Charged[], eps: number, hidden?: CrowdLaw): number {
  const step = eps / STEPS || 1;
  const laws = charged.flatMap(({ asked, rounds, last }) =>
    (asked.faded ? [last] : oncePerRound(asked) ? [total(rounds)] : rounds)
      .filter(each => each !== 0)
      .map(each => (hidden && asked.gateway ? hidden(asked, each) : privacy(asked, each, step))),
  );
  return delta(composed(laws, step), eps);
}

/** Delta at gamma of one person against two; sharper if only one state can be tracked. */
export function trackingDelta(charged: Charged[], gamma: number): number {
  const step = (gamma ? Math.min(Math.max(gamma, 1e-3), 80) : 1) / STEPS;
  const found = charged.flatMap(({ asked, rounds }) =>
    rounds.filter(each => each !== 0).map(each => ({ asked, rounds: each, law: tracking(asked, each, step) })),
  );
  const all = delta(
    composed(
      found.map(each => each.law),
      step,
    ),
    gamma,
  );
  const trackable = found.filter(each => delta(each.law, 0));
  if (trackable.length != 1) return all;
  const [{ asked, rounds }] = trackable;
  const made = asked.mechanism;
  const reports = rounds ?? LAST_ROUND;
  return !made.eps_state || (changing(asked) && reports > 3)
    ? all
    : Math.min(all, keptBit.trackingDelta(lieOf(made, "eps_state"), lieOf(made), reports, gamma));
}

/** How often an observer of the places recognises a person among 1,000, by attendance and reports. */
export function recognised(charged: Charged[]): number {
  charged = charged.filter(({ rounds }) => total(rounds) !== 0);
  let missed = 0;
  const reports: Law[] = [];
  for (const { asked, rounds } of charged) {
    for (const each of rounds) {
      if (each === null) return 1;
      if (!each) continue;
      const most = asked.mechanism.when_empty ? each : mostReports(asked, each);
      reports.push(tracking(asked, most, ATTENDANCE_STEP));
      if (most < each) missed += MISSED;
    }
  }
  const revealed = composed(reports, ATTENDANCE_STEP);
  const stays = charged.map(({ asked, rounds, attended = total(rounds) }) => blocks(asked, attended!));
  let found = 0;
  for (const places of new Set(charged.map(({ asked }) => attending(asked).places.join()))) {
    const shares = places.split(",").map(fraction);
    if (shares.length > 2 && delta(revealed, 0)) return 1; // The law of the reports is that of two people.
    for (const each of [stays.flat(), atTheSameTimes(stays)]) {
      const seen = each.map(([chance, count]) => power(oneStay(chance, shares, count), count));
      found = Math.max(found, missed + recognition(composed([revealed, ...seen], ATTENDANCE_STEP)));
    }
  }
  return Math.min(1, found);
}

const total = (rounds: (number | null)[]) =>
  rounds.includes(null) ? null : rounds.reduce<number>((sum, each) => sum + each!, 0);
