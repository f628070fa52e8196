import { describe, expect, it } from 'vitest';
import { PLAIN, paintLine } from '@/lib/ansi';
import {
  append,
  BLOCK_LINES,
  EMPTY,
  type LogDoc,
  paintBlock,
  plainText,
  prepend,
  trim,
} from './doc';
import { wholeCharacters } from './earlier';
import { findMatches, MAX_FOUND, splitAtMatches } from './find';
import { emptyText, matchText, stateText } from './labels';
import { downloadUrl, followUrl } from './source';

const ESC = '\u001b';

describe('colors of a line', () => {
  const names = (line: string) =>
    paintLine(line, PLAIN).pieces.map(({ text, style: { front, back, attributes } }) => [
      text,
      front,
      back,
      attributes.join(' '),
    ]);

  it('are applied until their end codes', () => {
    expect(names(`a${ESC}[1;31mb${ESC}[22mc${ESC}[0md`)).toEqual([
      ['a', null, null, ''],
      ['b', 'red', null, 'bold'],
      ['c', 'red', null, ''],
      ['d', null, null, ''],
    ]);
  });

  it('are mapped to the nearest of a few', () => {
    const front = (codes: string) => paintLine(`${ESC}[${codes}mx`, PLAIN).pieces[0]?.style.front;
    expect(front('91')).toBe('red');
    expect(front('90')).toBe('grey');
    expect(front('37')).toBe(null);
    expect(front('38;5;9')).toBe('red');
    expect(front('38;5;21')).toBe('blue');
    expect(front('38;5;208')).toBe('yellow');
    expect(front('38;5;255')).toBe(null);
    expect(front('38;2;40;200;60')).toBe('green');
    expect(front('38:2:200:40:190')).toBe('magenta');
    expect(front('38;5')).toBe(null);
    expect(paintLine(`${ESC}[44;97mx`, PLAIN).pieces[0]?.style).toMatchObject({ back: 'blue' });
  });

  it('are parsed fast in a line with many codes', () => {
    const all = `${ESC}[${'38;5;1;1;'.repeat(1e5)}44mx`;
    expect(names(all)).toEqual([['x', 'red', 'blue', 'bold']]);
    expect(plainText(append(EMPTY, `${'\r'.repeat(1e6)}x\r`))).toBe('x');
  });

  it('continue in the next line, also after overwritten text', () => {
    const { pieces, style } = paintLine(`${ESC}[32m 10%\r 50%\r`, PLAIN);
    expect(pieces.map(({ text }) => text)).toEqual([' 50%']);
    expect(style.front).toBe('green');
  });

  it('are the only effect of escape sequences', () => {
    expect(names(`${ESC}]0;title\u0007a${ESC}[2Kb\u0000\u0008${ESC}[?25lc\td`)).toEqual([
      ['abc\td', null, null, ''],
    ]);
    expect(names('<b onclick="x">&amp;')).toEqual([['<b onclick="x">&amp;', null, null, '']]);
  });
});

const lines = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `line ${from + n}`).join('\n');

describe('a log in blocks', () => {
  it('has the same text for every division into pieces', () => {
    const text = `${lines(3 * BLOCK_LINES)}\nthe end`;
    for (const size of [1, 7, 1000, text.length]) {
      let doc = EMPTY;
      for (let at = 0; at < text.length; at += size) doc = append(doc, text.slice(at, at + size));
      expect(plainText(doc)).toBe(text);
      expect(doc.characters).toBe(text.length + 1);
    }
  });

  it('changes only its last block', () => {
    const before = append(EMPTY, lines(2 * BLOCK_LINES + 3));
    const after = append(before, '\nmore');
    expect(after.blocks).toHaveLength(3);
    expect(after.blocks[0]).toBe(before.blocks[0]);
    expect(after.blocks[1]).toBe(before.blocks[1]);
  });

  it('drops overwritten states of a progress bar', () => {
    let doc = EMPTY;
    for (let n = 0; n < 1000; n++) doc = append(doc, `${n}%\r`);
    expect(plainText(doc)).toBe('999%');
    expect(doc.characters).toBeLessThan(20);
    expect(plainText(append(doc, '\ndone\r\n'))).toBe('999%\ndone\n');
  });

  it('carries a color into the next block', () => {
    const doc = append(EMPTY, `${ESC}[31m${lines(BLOCK_LINES + 1)}`);
    const [, second] = doc.blocks;
    expect(second && paintBlock(second)[0]?.[0]?.style.front).toBe('red');
  });

  it('keeps present blocks when earlier text is prepended', () => {
    const text = lines(3 * BLOCK_LINES);
    const cut = text.length - 3700;
    const end = append(EMPTY, text.slice(cut));
    const whole = prepend(prepend(end, text.slice(900, cut)), text.slice(0, 900));
    expect(plainText(whole)).toBe(text);
    expect(whole.characters).toBe(text.length + 1);
    expect(new Set(whole.blocks.map(({ key }) => key)).size).toBe(whole.blocks.length);
    expect(whole.blocks.at(-1)).toBe(end.blocks.at(-1));
  });

  it('drops its first blocks when it grows too long, never the last', () => {
    const doc = append(EMPTY, lines(5 * BLOCK_LINES));
    const short = trim(doc, 4000);
    expect(short.characters).toBeLessThanOrEqual(4000);
    expect(plainText(doc).endsWith(plainText(short))).toBe(true);
    expect(trim(doc, 0).blocks).toHaveLength(1);
    expect(trim(doc, 1e9)).toBe(doc);
  });
});

describe('finding', () => {
  const doc: LogDoc = append(EMPTY, `Error ${ESC}[31merr${ESC}[0mor\n${lines(300)}\nERROR`);

  it('ignores color codes', () => {
    const { matches, more } = findMatches(doc, 'error');
    expect(more).toBe(false);
    expect(matches.map(({ line, start, end }) => [line, start, end])).toEqual([
      [0, 0, 5],
      [0, 6, 11],
      [300 + 1 - BLOCK_LINES, 0, 5],
    ]);
    expect(findMatches(doc, '').matches).toEqual([]);
    expect(findMatches(doc, '[31m').matches).toEqual([]);
    expect(findMatches(append(EMPTY, 'İ x İ'), 'x').matches).toMatchObject([{ start: 2, end: 3 }]);
  });

  it('stops at the maximum number of matches', () => {
    const many = findMatches(append(EMPTY, 'a'.repeat(2 * MAX_FOUND)), 'a');
    expect(many.matches).toHaveLength(MAX_FOUND);
    expect(matchText('a', many, 0)).toBe('1 of more than 2000');
  });

  it('are split off across colors', () => {
    const [first] = doc.blocks;
    const { matches } = findMatches(doc, 'error');
    const pieces = splitAtMatches(first ? (paintBlock(first)[0] ?? []) : [], matches.slice(0, 2));
    expect(pieces.map(({ text, match: at }) => [text, at?.start])).toEqual([
      ['Error', 0],
      [' ', undefined],
      ['err', 6],
      ['or', 6],
    ]);
  });

  it('shows the number of matches', () => {
    expect(matchText('x', findMatches(doc, 'nowhere'), -1)).toBe('Not found');
    expect(matchText('error', findMatches(doc, 'error'), 2)).toBe('3 of 3');
    expect(matchText('', findMatches(doc, ''), -1)).toBe('');
    expect(matchText('error', findMatches(doc, 'error'), 2, true)).toBe(
      '3 of 3 in the loaded part',
    );
  });
});

describe('words and addresses', () => {
  it('drop the rest of a character cut at the beginning', () => {
    expect(wholeCharacters('\ufffd\ufffda')).toEqual({ text: 'a', dropped: 2 });
    expect(wholeCharacters('\ufffd'.repeat(5)).dropped).toBe(3);
    expect(wholeCharacters('é')).toEqual({ text: 'é', dropped: 0 });
  });

  it('show whether the log is complete', () => {
    expect(stateText({ state: 'complete', bytesBefore: 0 })).toBe('End of log.');
    expect(stateText({ state: 'complete', bytesBefore: 9 })).toContain('End of the log');
    expect(stateText({ state: 'refused', bytesBefore: 0 })).toBe('');
    expect(emptyText({ state: 'refused' })).toBe('');
  });

  it('name the task of an array', () => {
    const source = { kind: 'jobs', id: 'a b', task: 3 } as const;
    expect(downloadUrl(source, 'stderr')).toBe(
      '/api/v1/jobs/a%20b/log/download?stream=stderr&task=3',
    );
    expect(followUrl({ kind: 'sessions', id: 'x' }, 'stdout', 7)).toBe(
      '/api/v1/sessions/x/log/follow?stream=stdout&offset=7',
    );
  });
});
