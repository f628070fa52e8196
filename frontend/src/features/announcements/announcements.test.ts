import { describe, expect, it } from 'vitest';
import {
  announcementState,
  atFirst,
  pieces,
  readDismissed,
  textKey,
  visibleAnnouncements,
  withDismissed,
} from './current';
import {
  type Announcement,
  changes,
  draftOf,
  formErrors,
  newDraft,
  rebased,
  toBody,
  toField,
} from './form';

const NOW = Date.parse('2026-11-22T06:00:00Z');
const one = (id: string, over: Partial<Announcement> = {}): Announcement => ({
  id,
  level: 'info',
  title: id,
  text: '',
  starts_at: '2026-11-22T05:00:00Z',
  ends_at: null,
  public: false,
  ...over,
});
const ids = (all: { id: string }[]): string[] => all.map(({ id }) => id);

describe('an announcement', () => {
  it('starts and ends by itself', () => {
    const times = { starts_at: '2026-11-22T05:00:00Z', ends_at: '2026-11-22T06:00:00Z' };
    expect(announcementState(times, NOW - 2 * 3600_000)).toBe('planned');
    expect(announcementState(times, NOW - 1)).toBe('shown');
    expect(announcementState(times, NOW)).toBe('over');
    expect(announcementState({ ...times, ends_at: null }, NOW)).toBe('shown');
  });

  it('leaves room for the page until all are wanted', () => {
    const all = ['a', 'b', 'c'].map((id) => one(id, { level: 'critical' }));
    expect(ids([...atFirst(all, false, 2)])).toEqual(['a', 'b']);
    expect(atFirst(all, true, 2)).toHaveLength(3);
  });

  it('is shown by weight, then the newest first', () => {
    const all = [
      one('old'),
      one('new', { starts_at: '2026-11-22T05:30:00Z' }),
      one('bad', { level: 'critical' }),
      one('later', { starts_at: '2026-11-23T00:00:00Z' }),
      one('care', { level: 'warning' }),
    ];
    expect(ids(visibleAnnouncements(all, new Set(), NOW))).toEqual(['bad', 'care', 'new', 'old']);
  });

  it('can be put away until its text changes, unless it is critical', () => {
    const critical = one('bad', { level: 'critical' });
    const putAway = new Set([textKey(one('a')), textKey(critical)]);
    expect(ids(visibleAnnouncements([one('a'), critical], putAway, NOW))).toEqual(['bad']);
    expect(ids(visibleAnnouncements([one('a', { text: 'more' })], putAway, NOW))).toEqual(['a']);
  });
});

describe('what was put away', () => {
  it('survives whatever the browser holds', () => {
    expect(readDismissed(null)).toEqual([]);
    expect(readDismissed('{"a":')).toEqual([]);
    expect(readDismissed('{"a":1}')).toEqual([]);
    expect(readDismissed('["a@1",2]')).toEqual(['a@1']);
  });

  it('has an end', () => {
    const many = Array.from({ length: 60 }, (_, n) => `k${n}`);
    const kept = withDismissed(many, 'k0');
    expect(kept).toHaveLength(50);
    expect(kept[49]).toBe('k0');
  });
});

describe('a text', () => {
  it('has addresses as links, and markup as text', () => {
    expect(pieces('See https://a.test/x?y=1. Or <b>(http://b.test)</b>!')).toEqual([
      { text: 'See ' },
      { text: 'https://a.test/x?y=1', href: 'https://a.test/x?y=1' },
      { text: '. Or <b>(' },
      { text: 'http://b.test', href: 'http://b.test' },
      { text: ')</b>!' },
    ]);
    expect(pieces('javascript:alert(1)')).toEqual([{ text: 'javascript:alert(1)' }]);
    expect(pieces('')).toEqual([]);
  });
});

describe('the form', () => {
  it('wants a title, and an end after the start', () => {
    expect(formErrors(newDraft())).toEqual({ title: 'Summarize it in a few words.' });
    const draft = { ...newDraft(), title: 'x', starts: '2026-11-22T06:00' };
    expect(formErrors({ ...draft, ends: '2026-11-22T06:00' }).ends_at).toMatch(/before it starts/);
    expect(formErrors({ ...draft, ends: '2026-11-22T06:01' })).toEqual({});
    expect(formErrors({ ...draft, ends: 'soon' }).ends_at).toMatch(/day and a time/);
  });

  it('starts now and has no end unless one is given', () => {
    expect(toBody({ ...newDraft(), title: ' x ' })).toEqual({
      level: 'info',
      title: 'x',
      text: '',
      ends_at: null,
      public: false,
    });
    const body = toBody({ ...newDraft(), title: 'x', starts: '2026-11-22T06:00' });
    expect(toField(body.starts_at ?? null)).toBe('2026-11-22T06:00');
  });

  it('keeps what was typed when another user has saved, and takes the rest from them', () => {
    const before = one('a');
    const typed = { ...draftOf(before), title: 'mine' };
    const theirs = one('a', { title: 'theirs', text: 'theirs', level: 'critical' });
    expect(rebased(before, theirs, typed)).toMatchObject({
      title: 'mine',
      text: 'theirs',
      level: 'critical',
    });
  });

  it('sends what was changed and keeps the seconds of what was not', () => {
    const before = one('a', { starts_at: '2026-11-22T05:00:31Z', ends_at: '2026-11-23T05:00:31Z' });
    const draft = draftOf(before);
    expect(changes(before, draft)).toEqual({});
    expect(changes(before, { ...draft, level: 'warning', ends: '' })).toEqual({
      level: 'warning',
      ends_at: null,
    });
  });
});
