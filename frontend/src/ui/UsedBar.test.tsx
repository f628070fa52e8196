import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { UsedBar } from './UsedBar';

const markup = (bar: React.ReactElement): string => renderToStaticMarkup(bar);

describe('a bar of the used part', () => {
  it('has the length of the part, and no role without a label', () => {
    const half = markup(<UsedBar used={1} total={2} />);
    expect(half).toContain('width:50%');
    expect(half).toContain('aria-hidden="true"');
    expect(half).not.toContain('role=');
  });

  it('stays within its track', () => {
    expect(markup(<UsedBar used={3} total={2} />)).toContain('width:100%');
    expect(markup(<UsedBar used={3} total={0} />)).toContain('width:0%');
    expect(markup(<UsedBar used={-1} total={2} />)).toContain('width:0%');
  });

  it('warns once all is used, unless the level is given', () => {
    expect(markup(<UsedBar used={2} total={2} />)).toContain('data-level="tight"');
    expect(markup(<UsedBar used={2} total={2} level="fine" />)).toContain('data-level="fine"');
    expect(markup(<UsedBar used={1} total={2} level="full" />)).toContain('data-level="full"');
  });

  it('is a progress bar with a label', () => {
    const bar = markup(<UsedBar used={1} total={3} label="Time used" />);
    expect(bar).toContain('role="progressbar" aria-label="Time used" aria-valuenow="33"');
    expect(bar).not.toContain('aria-hidden');
  });
});
