import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ApiError } from '@/api/problem';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import { NotFoundPage } from '@/ui/NotFoundPage';
import head from '@/ui/PageHead.module.css';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { stateLabel } from './labels';
import { useAnySession } from './useAnySession';

/** The log of a session's job, followed while it runs. */
export function SessionLogPage() {
  const { id } = useParams({ from: '/signed-in/sessions/$id/log' });
  const { stream = 'stderr' } = useSearch({ from: '/signed-in/sessions/$id/log' });
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
      <Link to="/" className={head.back}>
        <Trans>← Your sessions</Trans>
      </Link>
      <div className={head.top}>
        <PageTitle tab={title}>{title}</PageTitle>
        {session && <StateChip {...stateLabel(session)} />}
      </div>
      <LogView source={{ kind: 'sessions', id }} stream={stream} onStream={choose} first="stderr" />
    </>
  );
}
