import { describe, expect, it } from 'vitest';
import { availableText, parseProblem } from './catalogProblems';

describe('a problem of the catalog', () => {
  it.each([
    [
      "/etc/site/environments/mine.yaml: gpu: 'maybe' is not one of ['none']",
      ['mine.yaml', '/etc/site/environments/mine.yaml', 'gpu', "'maybe' is not one of ['none']"],
    ],
    [
      '/c/templates/a.yaml: parameters.size-kb.default: 3 is too small',
      ['a.yaml', '/c/templates/a.yaml', 'parameters.size-kb.default', '3 is too small'],
    ],
    [
      "/c/environments/a.yaml: 'runtime' is a required property",
      ['a.yaml', '/c/environments/a.yaml', '', "'runtime' is a required property"],
    ],
    [
      '/c/a: b/environments/a.yaml: title: it is empty',
      ['a.yaml', '/c/a: b/environments/a.yaml', 'title', 'it is empty'],
    ],
    [
      '/c/environments/a.yaml: while scanning: a quoted scalar\n  in line 3: no end',
      [
        'a.yaml',
        '/c/environments/a.yaml',
        '',
        'while scanning: a quoted scalar\n  in line 3: no end',
      ],
    ],
    [
      '/no/folder: there is no such folder',
      ['folder', '/no/folder', '', 'there is no such folder'],
    ],
    ['None: something else', ['', '', '', 'None: something else']],
  ])('%s', (line, [name, file, field, message]) => {
    expect(parseProblem(line)).toEqual({ name, file, field, message });
  });
});

describe('how many are available', () => {
  it.each([
    [[true, true], 'All 2 available'],
    [[true, false], '1 of 2 available'],
    [[false], '0 of 1 available'],
  ])('%j: %s', (rows, words) => {
    expect(availableText(rows.map((available) => ({ available })))).toBe(words);
  });
});
