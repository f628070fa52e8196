import { Trans } from '@lingui/react/macro';
import '@/ui/styles-shell';
import { Notifications } from '@mantine/notifications';
import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { LoginAgain } from '@/features/account/LoginAgain';
import { ReauthProvider } from '@/features/account/ReauthProvider';
import { useOwnLanguage } from '@/features/account/useOwnLanguage';
import { BrowserNotifications } from '@/features/notify/BrowserNotifications';
import { PaletteShortcut } from '@/features/palette/PaletteShortcut';
import { dropDrafts, tabStorage } from '@/lib/drafts';
import { useMe } from '@/lib/useMe';
import { live } from '@/live/store';
import { Announcer } from './Announcer';
import { Banners } from './Banners';
import { Header } from './Header';
import classes from './MemberLayout.module.css';

/** Everything behind the login: header, notices, the page, and the live connection they share. */
export function MemberLayout() {
  const { username } = useMe();
  useEffect(() => live.open(username), [username]);
  useEffect(() => dropDrafts(tabStorage(), username), [username]);
  useOwnLanguage();
  return (
    <ReauthProvider>
      <LoginAgain />
      <a className={classes.skip} href="#main">
        <Trans>Skip to main content</Trans>
      </a>
      <Header />
      <div className={classes.column}>
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
