/** Suggests a username from a user's names. Pure. */

/** Letters that Unicode does not decompose. */
const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

const MAX_LENGTH = 32;

function plain(text: string): string {
  const folded = text.normalize('NFKD').toLowerCase();
  return [...folded]
    .map((letter) => LETTERS[letter] ?? letter)
    .join('')
    .replace(/[^a-z0-9]/g, '');
}

/** Suggest a valid UNIX and Slurm username: "Ada", "Lovelace" → "alovelace". Empty without names. */
export function suggestedUsername(givenName: string, surname: string): string {
  const name = `${plain(givenName).slice(0, 1)}${plain(surname)}`.slice(0, MAX_LENGTH);
  return /^[a-z]/.test(name) && plain(surname) !== '' ? name : '';
}
