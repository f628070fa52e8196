import { describe, expect, it } from 'vitest';
import {
  announcementState,
  readDismissed,
  splitLinks,
  textKey,
  visibleAnnouncements,
  withDismissed,
  withinLimit,
} from './current';
import {
  type Announcement,
  changedFields,
  formErrors,
  newValues,
  rebase,
  toAnnouncementRequest,
  toAnnouncementValues,
  toField,
} from './form';

const NOW = Date.parse('2026-11-22T06:00:00Z');
const announcement = (id: string, over: Partial<Announcement> = {}): Announcement => ({
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

  it('is collapsed to leave room for the page', () => {
    const all = ['a', 'b', 'c'].map((id) => announcement(id, { level: 'critical' }));
    expect(ids([...withinLimit(all, false, 2)])).toEqual(['a', 'b']);
    expect(withinLimit(all, true, 2)).toHaveLength(3);
  });

  it('is sorted by level, then newest first', () => {
    const all = [
      announcement('old'),
      announcement('new', { starts_at: '2026-11-22T05:30:00Z' }),
      announcement('bad', { level: 'critical' }),
      announcement('later', { starts_at: '2026-11-23T00:00:00Z' }),
      announcement('care', { level: 'warning' }),
    ];
    expect(ids(visibleAnnouncements(all, new Set(), NOW))).toEqual(['bad', 'care', 'new', 'old']);
  });

  it('can be dismissed until its text changes, unless it is critical', () => {
    const critical = announcement('bad', { level: 'critical' });
    const putAway = new Set([textKey(announcement('a')), textKey(critical)]);
    expect(ids(visibleAnnouncements([announcement('a'), critical], putAway, NOW))).toEqual(['bad']);
    expect(ids(visibleAnnouncements([announcement('a', { text: 'more' })], putAway, NOW))).toEqual([
      'a',
    ]);
  });
});

describe('the dismissed announcements', () => {
  it('tolerate invalid stored values', () => {
    expect(readDismissed(null)).toEqual([]);
    expect(readDismissed('{"a":')).toEqual([]);
    expect(readDismissed('{"a":1}')).toEqual([]);
    expect(readDismissed('["a@1",2]')).toEqual(['a@1']);
  });

  it('are bounded', () => {
    const many = Array.from({ length: 60 }, (_, n) => `k${n}`);
    const kept = withDismissed(many, 'k0');
    expect(kept).toHaveLength(50);
    expect(kept[49]).toBe('k0');
  });
});

describe('a text', () => {
  it('has links for addresses, and markup as plain text', () => {
    expect(splitLinks('See https://a.test/x?y=1. Or <b>(http://b.test)</b>!')).toEqual([
      { text: 'See ' },
      { text: 'https://a.test/x?y=1', href: 'https://a.test/x?y=1' },
      { text: '. Or <b>(' },
      { text: 'http://b.test', href: 'http://b.test' },
      { text: ')</b>!' },
    ]);
    expect(splitLinks('javascript:alert(1)')).toEqual([{ text: 'javascript:alert(1)' }]);
    expect(splitLinks('')).toEqual([]);
  });
});

describe('the form', () => {
  it('requires a title, and times that can be read', () => {
    expect(formErrors(newValues())).toEqual({ title: 'Summarize it in a few words.' });
    const values = { ...newValues(), title: 'x', starts: '2026-11-22T06:00' };
    expect(formErrors({ ...values, ends: '2026-11-22T06:00' })).toEqual({});
    expect(formErrors({ ...values, ends: 'soon' }).ends_at).toMatch(/day and a time/);
  });

  it('starts now and has no end unless one is given', () => {
    expect(toAnnouncementRequest({ ...newValues(), title: ' x ' })).toEqual({
      level: 'info',
      title: 'x',
      text: '',
      ends_at: null,
      public: false,
    });
    const body = toAnnouncementRequest({ ...newValues(), title: 'x', starts: '2026-11-22T06:00' });
    expect(toField(body.starts_at ?? null)).toBe('2026-11-22T06:00');
  });

  it('keeps typed fields when another user has saved, and takes their other values', () => {
    const before = announcement('a');
    const typed = { ...toAnnouncementValues(before), title: 'mine' };
    const theirs = announcement('a', { title: 'theirs', text: 'theirs', level: 'critical' });
    expect(rebase(before, theirs, typed)).toMatchObject({
      title: 'mine',
      text: 'theirs',
      level: 'critical',
    });
  });

  it('sends changed fields, and keeps the seconds of an untouched time', () => {
    const before = announcement('a', {
      starts_at: '2026-11-22T05:00:31Z',
      ends_at: '2026-11-23T05:00:31Z',
    });
    const values = toAnnouncementValues(before);
    expect(changedFields(before, values)).toEqual({});
    expect(changedFields(before, { ...values, level: 'warning', ends: '' })).toEqual({
      level: 'warning',
      ends_at: null,
    });
  });
});
