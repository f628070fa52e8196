/** Pauses in typing after which a form acts on the text, by the cost of what it does. */

/** a search in what the page has loaded */
export const LOCAL_SEARCH_DELAY_MS = 200;
/** a search in the portal's database or the directory */
export const SERVER_SEARCH_DELAY_MS = 250;
/** a validation, or a search through a user's files */
export const SERVER_CHECK_DELAY_MS = 400;
/** an estimate, for which the portal asks Slurm */
export const SLURM_ESTIMATE_DELAY_MS = 700;
