/* Signals that ask training to stop, and crashes. */
#ifndef LINNET_SIGNALS_H
#define LINNET_SIGNALS_H

/* Catches SIGINT, SIGTERM and SIGHUP (unless it was ignored), so that the loop ends after the
 * current step, or within a validation; a second signal ends the program at once. */
void signals_catch(void);
/* Gives the signals back: one ends the program at once again. */
void signals_release(void);
/* The signal caught; 0: none yet. */
int signals_caught(void);

/* Acts as if this signal, which another rank received, had arrived here. */
void signals_record(int number);

/* Sets a function to be called before a second interrupt or a crash ends the program. It must
 * be async-signal-safe. NULL, the default: none. */
void signals_set_last_act(void (*act)(void));

#endif
