import { Paper, Text, Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { LoggedIn } from '@/api/types';
import { meQuery, queryClient } from '@/app/queries';
import { needsFullLoad, safeNext } from '@/lib/next';
import { Logo } from '@/ui/Logo';
import { CodeStep } from './CodeStep';
import { LoginForm } from './LoginForm';
import classes from './LoginPage.module.css';

export function LoginPage() {
  const { next } = useSearch({ from: '/login' });
  const navigate = useNavigate();
  const [codeDue, setCodeDue] = useState(false);
  const [why, setWhy] = useState<string | null>(null);

  useEffect(() => {
    document.title = 'Log in · Data Scientist Portal';
    // While the name is being typed, the next page may come.
    void import('@/app/MemberLayout');
    void import('@/features/home/HomePage');
  }, []);

  const enter = ({ second_factor, second_factor_was_reset, ...user }: LoggedIn): void => {
    if (second_factor === 'required') {
      setCodeDue(true);
      return;
    }
    if (second_factor === 'enrolment-required') {
      void navigate({ to: '/second-factor' });
      return;
    }
    queryClient.setQueryData(meQuery.queryKey, { ...user, password_fresh: true });
    // The account's page says who took the second factor away.
    const path = second_factor_was_reset ? '/account' : safeNext(next, window.location.origin);
    if (needsFullLoad(path)) window.location.assign(path);
    else void navigate({ href: path, replace: true });
  };

  const back = (sentence: string | null): void => {
    setCodeDue(false);
    setWhy(sentence);
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
              Notebooks on the cluster's GPUs
            </Text>
          </div>
        </div>
        {codeDue ? (
          <CodeStep onDone={enter} onBack={back} />
        ) : (
          <LoginForm onUser={enter} why={why} />
        )}
      </Paper>
    </main>
  );
}
