import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Text, Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { LoggedIn } from '@/api/types';
import { PublicAnnouncements } from '@/features/announcements/PublicAnnouncements';
import { tabStorage } from '@/lib/drafts';
import { navigation } from '@/lib/navigation';
import { needsFullLoad, safeNext } from '@/lib/nextPath';
import { rememberLogin } from '@/lib/ownLogin';
import { meQuery, queryClient } from '@/lib/queries';
import { Logo } from '@/ui/Logo';
import { CodeStep } from './CodeStep';
import { LanguageChoice } from './LanguageChoice';
import { type Given, LoginForm } from './LoginForm';
import classes from './LoginPage.module.css';
import { NewPasswordStep } from './NewPasswordStep';
import { broadcastLogin, toLoginEvent } from './otherTabs';
import { keepName, takeName } from './typedName';

type Step = { due: 'login' } | { due: 'code' } | { due: 'password'; given: Given };

const FIRST: Step = { due: 'login' };

export function LoginPage() {
  const { next, replaced } = useSearch({ from: '/login' });
  const navigate = useNavigate();
  const [step, setStep] = useState<Step>(FIRST);
  const [why, setWhy] = useState<string | null>(
    replaced
      ? t`This login didn't come from the portal's own login page, so it was ended. Check the address, then log in again.`
      : null,
  );
  const [name, setName] = useState(() => takeName(tabStorage()));
  const typed = useRef(name);

  useEffect(() => {
    document.title = `${t`Log in`} · Data Scientist Portal`;
    // While the name is being typed, the next page may come.
    navigation().preloadHome();
  }, []);

  const enter = (found: LoggedIn, given?: Given): void => {
    const { second_factor, second_factor_was_reset } = found;
    rememberLogin(found.login_id);
    broadcastLogin(toLoginEvent(found));
    if (found.password_change_required) {
      // The one-time password is asked for again with the new one: kept here, and nowhere else.
      setStep(given ? { due: 'password', given } : FIRST);
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
    // The account's page says who took the second factor away.
    const path = second_factor_was_reset
      ? '/account/second-factor'
      : safeNext(next, window.location.origin);
    if (needsFullLoad(path)) window.location.assign(path);
    else void navigate({ href: path, replace: true });
  };

  const back = (sentence: string | null): void => {
    setStep(FIRST);
    setWhy(sentence);
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
              <Trans>Notebooks on the cluster's GPUs</Trans>
            </Text>
          </div>
        </div>
        <div className={classes.announcements}>
          <PublicAnnouncements />
        </div>
        {step.due === 'code' && <CodeStep onDone={enter} onBack={back} />}
        {step.due === 'password' && (
          <NewPasswordStep
            username={step.given.username}
            current={step.given.password}
            onDone={enter}
            onBack={back}
          />
        )}
        {step.due === 'login' && (
          <LoginForm
            onUser={enter}
            why={why}
            name={name}
            onName={(now) => {
              typed.current = now;
            }}
          />
        )}
        <LanguageChoice onLeave={() => keepName(tabStorage(), typed.current)} />
      </Paper>
    </main>
  );
}
