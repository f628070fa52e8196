import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
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
  const { session } = useAnySession(id);
  const choose = (value: Stream): void => {
    const search = value === 'stdout' ? { stream: value } : {};
    void navigate({ to: '/sessions/$id/log', params: { id }, search, replace: true });
  };
  const name = session?.name ?? 'session';
  return (
    <>
      <Link to="/" className={classes.back}>
        ← Your sessions
      </Link>
      <div className={classes.top}>
        <PageTitle tab={`Log of ${name}`}>Log of {name}</PageTitle>
        {session && <StateChip {...stateWords(session)} />}
      </div>
      <LogView of={{ kind: 'sessions', id }} stream={stream} onStream={choose} first="stderr" />
    </>
  );
}
