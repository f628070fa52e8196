/** What was typed when the login had ended, until the same person is back at the same form. Held in
 * this tab's memory only, so that whoever uses the browser next finds nothing. */
const kept = new Map<string, unknown>();

const keyOf = (username: string, form: string): string => `${username}\n${form}`;

/** `form` names the form and what it is about, as `limits/person/alice`. */
export function keep(username: string, form: string, draft: unknown): void {
  kept.set(keyOf(username, form), draft);
}

/** What was kept, if anything; it stays until it is dropped. */
export function keptDraft<T>(username: string, form: string): T | undefined {
  return kept.get(keyOf(username, form)) as T | undefined;
}

export function dropKept(username: string, form: string): void {
  kept.delete(keyOf(username, form));
}
