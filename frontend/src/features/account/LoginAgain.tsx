import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Button, Modal, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { lostLogin } from '@/api/lostLogin';
import type { LoggedIn } from '@/api/types';
import { CodeStep } from '@/features/login/CodeStep';
import { type Credentials, LoginForm } from '@/features/login/LoginForm';
import {
  broadcastLoginEvent,
  onLoginEventFromOtherTabs,
  toLoginEvent,
} from '@/features/login/otherTabs';
import { navigation } from '@/lib/navigation';
import { notifyLogout } from '@/lib/onLogout';
import { rememberLogin } from '@/lib/ownLogin';
import { queryClient } from '@/lib/queries';
import { useMe } from '@/lib/useMe';
import { resumeRequests } from './passwordAgain';

/** Above every other dialog; what they contain is kept. */
const ABOVE_ALL = 1000;

/** The login dialog that opens over the page when its login has ended, so that no input is lost.
 * Only the same user can continue. */
export function LoginAgain() {
  const { username } = useMe();
  const [open, setOpen] = useState(false);
  useEffect(() => lostLogin.registerDialog(setOpen), []);
  useEffect(() => {
    if (open) broadcastLoginEvent({ kind: 'ended' });
  }, [open]);
  useEffect(
    () =>
      onLoginEventFromOtherTabs((event) => {
        if (event.kind === 'ended') void lostLogin.requestLogin();
        if (event.kind !== 'logged-in') return;
        if (event.username === username) resume(null);
        else {
          // The page belongs to a user whose login has ended for good.
          notifyLogout();
          window.location.assign('/');
        }
      }),
    [username],
  );
  useEscapeDisabled(open);
  return (
    <Modal
      opened={open}
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
function resume(password: string | null): void {
  resumeRequests(password);
  void queryClient.invalidateQueries();
}

const goToLoginPage = (): void =>
  void navigation().goToLogin(navigation().router.state.location.href);

type Step = 'password' | 'code' | 'login-page';

function Steps({ username }: { username: string }) {
  const [step, setStep] = useState<Step>('password');
  const [error, setError] = useState<string | null>(null);
  // kept until the login is complete
  const password = useRef<string | null>(null);

  const enter = (user: LoggedIn): void => {
    rememberLogin(user.login_id);
    broadcastLoginEvent(toLoginEvent(user));
    if (user.password_change_required || user.second_factor === 'enrolment-required')
      setStep('login-page');
    else if (user.second_factor === 'required') setStep('code');
    else resume(password.current);
  };

  const enterPassword = (user: LoggedIn, credentials: Credentials): void => {
    password.current = credentials.password;
    enter(user);
  };

  const back = (message: string | null): void => {
    setError(message);
    setStep('password');
  };

  if (step === 'code')
    return <CodeStep onDone={enter} onBack={back} back={t`Back to the password`} />;
  if (step === 'login-page')
    return (
      <Stack>
        <Text size="sm">
          <Trans>
            The login page requires one more step before you can continue. What you have typed here
            may be lost.
          </Trans>
        </Text>
        <Button onClick={goToLoginPage}>
          <Trans>Go to the login page</Trans>
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
      <LoginForm username={username} onUser={enterPassword} why={error} />
      <Text size="sm">
        <Anchor component="button" type="button" onClick={goToLoginPage}>
          <Trans>Log in as another user</Trans>
        </Anchor>
      </Text>
    </Stack>
  );
}

/** Keep the Escape key from closing the dialogs below. Mount this before any of them: listeners on
 * the same element run in the order in which they were added. */
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
