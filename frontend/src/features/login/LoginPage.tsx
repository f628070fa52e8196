import { Paper, Text, Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { User } from '@/api/types';
import { meQuery, queryClient } from '@/app/queries';
import { needsFullLoad, safeNext } from '@/lib/next';
import { Logo } from '@/ui/Logo';
import { LoginForm } from './LoginForm';
import classes from './LoginPage.module.css';

export function LoginPage() {
  const { next } = useSearch({ from: '/login' });
  const navigate = useNavigate();

  useEffect(() => {
    document.title = 'Log in · Data Scientist Portal';
    // While the name is being typed, the next page may come.
    void import('@/app/MemberLayout');
    void import('@/features/home/HomePage');
  }, []);

  const enter = (user: User): void => {
    queryClient.setQueryData(meQuery.queryKey, { ...user, password_fresh: true });
    const path = safeNext(next, window.location.origin);
    if (needsFullLoad(path)) window.location.assign(path);
    else void navigate({ href: path, replace: true });
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
        <LoginForm onUser={enter} />
      </Paper>
    </main>
  );
}
