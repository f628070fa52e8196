import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Button, Modal, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { lostLogin } from '@/api/lostLogin';
import type { LoggedIn } from '@/api/types';
import { CodeStep } from '@/features/login/CodeStep';
import { type Given, LoginForm } from '@/features/login/LoginForm';
import { broadcastLogin, onOtherTabs, toLoginEvent } from '@/features/login/otherTabs';
import { navigation } from '@/lib/navigation';
import { notifyLogout } from '@/lib/onLogout';
import { rememberLogin } from '@/lib/ownLogin';
import { queryClient } from '@/lib/queries';
import { useMe } from '@/lib/useMe';
import { resumeRequests } from './passwordAgain';

/** It stands over every other dialog: what they hold waits for it. */
const ABOVE_ALL = 1000;

/** Asks for a login over the page when the one it was opened with has ended, so that nothing typed is
 * lost. Only the same user can continue here. */
export function LoginAgain() {
  const { username } = useMe();
  const [asking, setAsking] = useState(false);
  useEffect(() => lostLogin.askedBy(setAsking), []);
  useEffect(() => {
    if (asking) broadcastLogin({ kind: 'ended' });
  }, [asking]);
  useEffect(
    () =>
      onOtherTabs((news) => {
        if (news.kind === 'ended') void lostLogin.ask();
        if (news.kind !== 'logged-in') return;
        if (news.username === username) goOn(null);
        else {
          // This page belongs to a user whose login has ended for good.
          notifyLogout();
          window.location.assign('/');
        }
      }),
    [username],
  );
  useEscapeDisabled(asking);
  return (
    <Modal
      opened={asking}
      onClose={() => undefined}
      title={t`Please log in again`}
      size="sm"
      zIndex={ABOVE_ALL}
      withCloseButton={false}
      overlayProps={{ backgroundOpacity: 0.6, blur: 8 }}
    >
      <Steps username={username} />
    </Modal>
  );
}

/** Resume the waiting requests, and refetch what may have changed. */
function goOn(password: string | null): void {
  resumeRequests(password);
  void queryClient.invalidateQueries();
}

const elsewhere = (): void => void navigation().goToLogin(navigation().router.state.location.href);

type Step = 'password' | 'code' | 'elsewhere';

function Steps({ username }: { username: string }) {
  const [step, setStep] = useState<Step>('password');
  const [why, setWhy] = useState<string | null>(null);
  // kept until the login is complete
  const password = useRef<string | null>(null);

  const enter = (found: LoggedIn): void => {
    rememberLogin(found.login_id);
    broadcastLogin(toLoginEvent(found));
    if (found.password_change_required || found.second_factor === 'enrolment-required')
      setStep('elsewhere');
    else if (found.second_factor === 'required') setStep('code');
    else goOn(password.current);
  };

  const enterPassword = (found: LoggedIn, given: Given): void => {
    password.current = given.password;
    enter(found);
  };

  const back = (sentence: string | null): void => {
    setWhy(sentence);
    setStep('password');
  };

  if (step === 'code')
    return <CodeStep onDone={enter} onBack={back} back={t`Back to the password`} />;
  if (step === 'elsewhere')
    return (
      <Stack>
        <Text size="sm">
          <Trans>
            The login page requires one more step before you can continue. What you have typed here
            may be lost.
          </Trans>
        </Text>
        <Button onClick={elsewhere}>
          <Trans>Go to the log-in page</Trans>
        </Button>
      </Stack>
    );
  return (
    <Stack>
      <Text size="sm">
        <Trans>
          Your login has ended: it expired, or you or an administrator ended it. Log in to continue:
          what you have typed is kept.
        </Trans>
      </Text>
      <LoginForm username={username} onUser={enterPassword} why={why} />
      <Text size="sm">
        <Anchor component="button" type="button" onClick={elsewhere}>
          <Trans>Log in as another user</Trans>
        </Anchor>
      </Text>
    </Stack>
  );
}

/** While it asks, the Escape key closes none of the dialogs below. This must be mounted before any of
 * them: of listeners at one place the first hears first. */
function useEscapeDisabled(asking: boolean): void {
  const now = useRef(asking);
  now.current = asking;
  useEffect(() => {
    const keep = (event: KeyboardEvent): void => {
      if (now.current && event.key === 'Escape') event.stopImmediatePropagation();
    };
    window.addEventListener('keydown', keep, { capture: true });
    return () => window.removeEventListener('keydown', keep, { capture: true });
  }, []);
}
