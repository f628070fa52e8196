import { Trans } from '@lingui/react/macro';
import { Notifications } from '@mantine/notifications';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { LoginAgain } from '@/features/account/LoginAgain';
import { ReauthProvider } from '@/features/account/ReauthProvider';
import { useOwnLanguage } from '@/features/account/useOwnLanguage';
import { BrowserNotifications } from '@/features/notify/BrowserNotifications';
import { PaletteShortcut } from '@/features/palette/PaletteShortcut';
import { dropDrafts, tabStorage } from '@/lib/drafts';
import { useMe } from '@/lib/useMe';
import { liveStore } from '@/live/store';
import { Announcer } from './Announcer';
import { Banners } from './Banners';
import { Header } from './Header';
import classes from './SignedInLayout.module.css';
import { isWide } from './wide';

/** The layout of all pages behind the login: header, banners, the page, and the live connection. */
export function SignedInLayout() {
  const { username } = useMe();
  const wide = useLocation({ select: ({ pathname }) => isWide(pathname) });
  useEffect(() => liveStore.open(username), [username]);
  useEffect(() => dropDrafts(tabStorage(), username), [username]);
  useOwnLanguage();
  return (
    <ReauthProvider>
      <LoginAgain />
      <a className={classes.skip} href="#main">
        <Trans>Skip to main content</Trans>
      </a>
      <Header />
      <div className={classes.column} data-wide={wide}>
        <Banners />
        <main id="main" tabIndex={-1} className={classes.main}>
          <Outlet />
        </main>
      </div>
      <PaletteShortcut />
      <Announcer />
      <BrowserNotifications />
      <Notifications position="bottom-center" limit={3} />
    </ReauthProvider>
  );
}
