import { describe, expect, it } from 'vitest';
import { afterLogin } from './ownLanguage';

describe('after a login', () => {
  it("the portal's preference applies, whatever was chosen before", () => {
    expect(afterLogin('zh', null)).toEqual({ does: 'follow', language: 'zh' });
    expect(afterLogin('en', 'zh')).toEqual({ does: 'follow', language: 'en' });
  });

  it('the choice is sent to the portal, if it stores none', () => {
    expect(afterLogin(null, 'zh')).toEqual({ does: 'save', language: 'zh' });
    expect(afterLogin(null, 'en')).toEqual({ does: 'save', language: 'en' });
  });

  it("the browser's language applies without a valid choice", () => {
    expect(afterLogin(null, null)).toEqual({ does: 'follow', language: null });
    expect(afterLogin('fr', null)).toEqual({ does: 'follow', language: null });
  });
});
