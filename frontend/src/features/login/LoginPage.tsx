import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { LoggedIn } from '@/api/types';
import { PublicAnnouncements } from '@/features/announcements/PublicAnnouncements';
import { tabStorage } from '@/lib/drafts';
import { needsFullLoad, safeNext } from '@/lib/nextPath';
import { rememberLogin } from '@/lib/ownLogin';
import { meQuery, queryClient } from '@/lib/queries';
import { siteQuery } from '@/lib/site';
import { Logo } from '@/ui/Logo';
import { CodeStep } from './CodeStep';
import { LanguageChoice } from './LanguageChoice';
import { type Credentials, LoginForm } from './LoginForm';
import classes from './LoginPage.module.css';
import { NewPasswordStep } from './NewPasswordStep';
import { broadcastLoginEvent, toLoginEvent } from './otherTabs';
import { storeTypedName, takeTypedName } from './typedName';

type Step = { due: 'login' } | { due: 'code' } | { due: 'password'; credentials: Credentials };

const FIRST: Step = { due: 'login' };

export function LoginPage() {
  const { next, replaced } = useSearch({ from: '/login' });
  const navigate = useNavigate();
  const { data: site, isPending } = useQuery(siteQuery);
  const tagline = isPending ? '\u00a0' : site?.tagline; // the portal's own must not flash up
  const [step, setStep] = useState<Step>(FIRST);
  const [error, setError] = useState<string | null>(
    replaced
      ? t`This login didn't come from the portal's own login page, so it was ended. Check the address, then log in again.`
      : null,
  );
  const [name, setName] = useState(() => takeTypedName(tabStorage()));
  const typed = useRef(name);

  useEffect(() => {
    document.title = `${t`Log in`} · Data Scientist Portal`;
  }, []);

  const continueLogin = (user: LoggedIn, credentials?: Credentials): void => {
    const { second_factor, second_factor_was_reset } = user;
    rememberLogin(user.login_id);
    broadcastLoginEvent(toLoginEvent(user));
    if (user.password_change_required) {
      // Keep the one-time password in memory, for the request that replaces it.
      setStep(credentials ? { due: 'password', credentials } : FIRST);
      return;
    }
    if (second_factor === 'required') {
      setStep({ due: 'code' });
      return;
    }
    if (second_factor === 'enrolment-required') {
      void navigate({ to: '/second-factor' });
      return;
    }
    queryClient.removeQueries(meQuery);
    // The account's page shows who reset the second factor.
    const path = second_factor_was_reset
      ? '/account/second-factor'
      : safeNext(next, window.location.origin);
    if (needsFullLoad(path)) window.location.assign(path);
    else void navigate({ href: path, replace: true });
  };

  const back = (message: string | null): void => {
    setStep(FIRST);
    setError(message);
    setName('');
    typed.current = '';
  };

  return (
    <main className={classes.page}>
      <Paper className={classes.card} shadow="sm">
        <div className={classes.brand}>
          <Logo size={44} />
          <div>
            <Title order={1} size="h3">
              Data Scientist Portal
            </Title>
            <Text c="dimmed" size="sm">
              {tagline ?? <Trans>Notebooks and jobs on your cluster</Trans>}
            </Text>
          </div>
        </div>
        <div className={classes.announcements}>
          <PublicAnnouncements />
        </div>
        {step.due === 'code' && <CodeStep onDone={continueLogin} onBack={back} />}
        {step.due === 'password' && (
          <NewPasswordStep
            username={step.credentials.username}
            current={step.credentials.password}
            onDone={continueLogin}
            onBack={back}
          />
        )}
        {step.due === 'login' && (
          <LoginForm
            onUser={continueLogin}
            why={error}
            name={name}
            onName={(now) => {
              typed.current = now;
            }}
          />
        )}
        <LanguageChoice onLeave={() => storeTypedName(tabStorage(), typed.current)} />
      </Paper>
    </main>
  );
}
