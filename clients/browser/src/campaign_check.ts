/** Reads a campaign's document, and refuses one that is not valid or that this client does not know. */
import { type Campaign, fraction } from "./campaign.js";
import { canonical } from "./canonical_json.js";
import { keys, valuesOf } from "./encoding_check.js";
import { ballots, crowd, views } from "./load_chunk.js";
import { localEps, whole, within } from "./numbers.js";
import { need, Refused, told } from "./refused.js";

const MOST_ROUNDS = 1e5;
/** The largest number of wipes that a campaign allows. */
const MOST_WIPES = 100;
/** The largest denominator of a share. */
const LARGEST_DENOMINATOR = 10n ** 18n;
const FIELDS = /^(ballots,)?encoding,first_round,(gateway,)?guarantee,mechanism,question,round_seconds,rounds,turns,version$/;
const BASES: Record<string, string> = {
  "noisy-inner-product": "bits,eps,mechanism,width",
  "randomized-response": "eps,mechanism",
};

/** Whether a campaign needs no chunk for its answers and reports. */
export const plain = ({ encoding, mechanism: { base } }: Campaign) =>
  base.mechanism in BASES && !/^(choices|path|presence|record)$/.test(encoding.type);

/** Refuse an encoding or a base that this file does not know, or that is not valid. */
function checkPlain({ encoding, mechanism: { base } }: Campaign): undefined {
  const values = valuesOf(encoding);
  need(values && values > 1n, "this client does not know the encoding");
  need(keys(base) == BASES[base.mechanism], "this client does not know the mechanism");
  const { bits = 1, width = 1, eps } = base;
  need(
    whole(bits, 1, 256) && whole(width, 1, Math.min(bits, 8)) && localEps(eps, width),
    "the campaign is not valid",
  );
  need(values <= 1n << BigInt(bits), "the mechanism does not take all values");
}

/** Read a document. One that is not canonical, that this client does not know, or that claims too much is refused. */
export async function checked(document: string): Promise<Campaign> {
  try {
    const asked: Campaign = JSON.parse(document);
    need(canonical(asked) == document && asked.version === 1, "the campaign is not a canonical document of version 1");
    const { turns, guarantee, gateway, mechanism } = asked;
    need(
      turns,
      "this campaign is answered in every round, so attendance gives people away; only the full package may join it",
    );
    need(
      FIELDS.test(keys(asked)) &&
        keys(turns) == "share,wipes" &&
        keys(guarantee) == (gateway ? "crowd,eps" : "eps") &&
        keys(mechanism) == "base,mechanism" &&
        mechanism.mechanism == "fresh",
      "this client does not know the campaign's form",
    );
    told(plain(asked) ? checkPlain(asked) : (await views()).problem(asked));
    need(/^[1-9]\d{0,18}(\/[1-9]\d{0,18})?$/.test(turns.share), "the campaign is not valid");
    const [one, other] = fraction(turns.share);
    need(
      one <= other &&
        other <= LARGEST_DENOMINATOR &&
        whole(turns.wipes, 0, MOST_WIPES) &&
        whole(asked.first_round, 0, 2 ** 40) &&
        whole(asked.round_seconds, 1, 366 * 86400) &&
        whole(asked.rounds, 1, MOST_ROUNDS) &&
        within(guarantee.eps, 0, Number.MAX_VALUE),
      "the campaign is not valid",
    );
    told(gateway && (await (await crowd()).crowdProblem(asked)));
    told(asked.ballots && (await ballots()).ballotsProblem(asked.ballots));
    // One report for each allowed wipe and one more, and what one reveals is at most the eps of its noise.
    const eps = (turns.wipes + 1) * (mechanism.base.eps ?? 0);
    need(
      eps <= guarantee.eps,
      `the campaign's guarantee cannot be confirmed: a person's answers reveal up to eps ${eps}, and it claims ${guarantee.eps}`,
    );
    return asked;
  } catch (error) {
    throw error instanceof Refused ? error : new Refused("the campaign is not valid");
  }
}
