import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ApiError } from '@/api/problem';
import { NotFoundPage } from '@/app/NotFoundPage';
import { PageTitle } from '@/app/PageTitle';
import { useAnySession } from '@/features/session/useAnySession';
import { stateWords } from '@/features/sessions/words';
import { StateChip } from '@/ui/StateChip';
import classes from './LogPage.module.css';
import { LogView } from './LogView';
import type { Stream } from './source';

/** What a session's job has printed, followed while it runs. */
export function LogPage() {
  const { id } = useParams({ from: '/member/sessions/$id/log' });
  const { stream = 'stderr' } = useSearch({ from: '/member/sessions/$id/log' });
  const navigate = useNavigate();
  const { session, error } = useAnySession(id);
  const choose = (value: Stream): void => {
    const search = value === 'stdout' ? { stream: value } : {};
    void navigate({ to: '/sessions/$id/log', params: { id }, search, replace: true });
  };
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  const title = session ? t`Log of ${{ name: session.name }}` : t`Log of session`;
  return (
    <>
      <Link to="/" className={classes.back}>
        <Trans>← Your sessions</Trans>
      </Link>
      <div className={classes.top}>
        <PageTitle tab={title}>{title}</PageTitle>
        {session && <StateChip {...stateWords(session)} />}
      </div>
      <LogView of={{ kind: 'sessions', id }} stream={stream} onStream={choose} first="stderr" />
    </>
  );
}
