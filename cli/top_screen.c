/* top_screen.c: the screen of plumb top, by ncurses. It compares what is shown with what should
 * be, so unchanged cells are not written again and nothing flickers.
 *
 * Every way out restores the terminal: quitting, the end of the run, errors, and signals.
 * Signals are blocked except in ppoll(). One that ends the program is raised again after
 * endwin(), so that the caller of plumb sees how it ended. After a crash the terminal is
 * restored with what was read from terminfo before: in a handler ncurses must not be called. */
#include "top.h"

#if PLUMB_HAVE_TOP
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { KEY_ESC = 27, LINES_MOST = 4096, CELLS_MOST = 1000 };

/* The screen of the process: handlers take no argument. Written before the handlers are set. */
static struct {
    SCREEN *curses;
    FILE *tty; /* keys come from it where stdin is not a terminal */
    int keys, out;
    volatile sig_atomic_t signal; /* the one that ends the program; 0: none */
    struct termios before;
    char restore[256]; /* leaves the screen, shows the cursor, ends attributes */
    size_t restore_bytes;
    sigset_t waiting; /* of ppoll() */
} screen;

static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* ---- In and out ------------------------------------------------------------------------------ */

static void on_end(int number)
{
    screen.signal = number;
}

static void on_crash(int number)
{
    ssize_t n = write(screen.out, screen.restore, screen.restore_bytes);
    (void)n;
    tcsetattr(screen.keys, TCSANOW, &screen.before);
    signal(number, SIG_DFL);
    raise(number);
}

static void set_handlers(void)
{
    struct sigaction end = {.sa_handler = on_end}, crash = {.sa_handler = on_crash};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        sigaddset(&blocked, ends[i]);
        sigaction(ends[i], &end, NULL);
    }
    sigaddset(&blocked, SIGWINCH);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &crash, NULL);
    sigprocmask(SIG_BLOCK, &blocked, &screen.waiting);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigdelset(&screen.waiting, ends[i]);
    sigdelset(&screen.waiting, SIGWINCH);
}

static bool open_screen(void)
{
    const char *no_color = getenv("NO_COLOR");
    if (screen.curses)
        return true;
    setlocale(LC_CTYPE, "");
    screen.out = STDOUT_FILENO;
    screen.tty = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
    if (!screen.tty)
        return false;
    screen.keys = fileno(screen.tty);
    tcgetattr(screen.keys, &screen.before);
    setenv("ESCDELAY", "25", 0);
    if (!(screen.curses = newterm(NULL, stdout, screen.tty)))
        return false;
    screen.restore_bytes = plumb_top_terminal_restore(screen.restore, sizeof screen.restore);
    set_handlers();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    if (!(no_color && *no_color) && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
        init_pair(2, COLOR_YELLOW, -1);
        init_pair(3, COLOR_CYAN, -1);
    }
    return true;
}

/* Leaves the screen. Raises the signal that asked for it. */
static void close_screen(void)
{
    if (!screen.curses)
        return;
    endwin();
    delscreen(screen.curses);
    screen.curses = NULL;
    if (screen.signal) {
        signal(screen.signal, SIG_DFL);
        raise(screen.signal);
        sigprocmask(SIG_SETMASK, &screen.waiting, NULL);
    }
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Waits for a key until `until_ns`. Returns ERR when the time is up, or a signal came. */
static int wait_key(uint64_t until_ns)
{
    struct pollfd keys = {screen.keys, POLLIN, 0};
    uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
    struct timespec ts = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    int key = getch();
    if (key != ERR || screen.signal)
        return key;
    if (ppoll(&keys, 1, &ts, &screen.waiting) < 0 && errno != EINTR)
        screen.signal = SIGHUP;
    if (keys.revents & (POLLHUP | POLLERR | POLLNVAL))
        screen.signal = SIGHUP;
    return screen.signal ? ERR : getch();
}

/* ---- Drawing --------------------------------------------------------------------------------- */

struct state {
    struct plumb_top_watch *w;
    struct plumb_top_view *view;
    struct plumb_top_table table;
    size_t first; /* line of the table at the top */
    bool paused, help, typing;
    uint64_t interval_ns;
};

static void put_line(int y, const char *text, attr_t attributes)
{
    char line[CELLS_MOST * 4];
    if (y < 0 || y >= LINES)
        return;
    plumb_top_fit(line, sizeof line, text, COLS < CELLS_MOST ? COLS : CELLS_MOST,
                  PLUMB_TOP_CUT_END);
    attrset(attributes);
    mvaddstr(y, 0, line);
    attrset(A_NORMAL);
}

/* A title line reaches to the edge. */
static void put_title(int y, const char *text)
{
    char line[CELLS_MOST * 4];
    plumb_top_fit(line, sizeof line, text, COLS < CELLS_MOST ? COLS : CELLS_MOST,
                  PLUMB_TOP_CUT_END | PLUMB_TOP_PAD);
    attrset(A_REVERSE);
    mvaddstr(y, 0, line);
    attrset(A_NORMAL);
}

static attr_t look_of(const struct plumb_top_row *row)
{
    if (!has_colors() || COLOR_PAIRS < 4)
        return row->share >= 10 ? A_BOLD : A_NORMAL;
    if (row->failures)
        return (attr_t)COLOR_PAIR(1);
    if (row->open && row->open_ns >= 1000000000u)
        return (attr_t)COLOR_PAIR(2);
    return row->share >= 10 ? A_BOLD : A_NORMAL;
}

static const char *const help_lines[] = {
    "q        quit                       p space  pause, continue",
    "s S      sort by the next, previous r        reverse the order",
    "f /      filter by name; Esc: all   t        call tree",
    "c        since the start, interval  o        open spans",
    "+ -      longer, shorter interval   h ?      this help",
    "up down PgUp PgDn Home End          scroll",
    "",
    "Rate/s  runs a second               Mean p95 of the runs of the interval",
    "Share   of the time of all nodes    Self/s   time in the node alone, a second",
    "Open    age of the oldest open span (how many: age)",
};

/* On a narrow screen, the halves of a line below each other. */
static void draw_help(int y, int rows)
{
    enum { HALF = 36 };
    for (size_t i = 0; i < sizeof help_lines / sizeof *help_lines && rows > 0; i++) {
        char half[HALF + 1];
        if (COLS >= 76 || strlen(help_lines[i]) <= HALF) {
            put_line(y++, help_lines[i], A_NORMAL);
            rows--;
            continue;
        }
        snprintf(half, sizeof half, "%.*s", HALF, help_lines[i]);
        put_line(y++, half, A_NORMAL);
        if (rows > 1)
            put_line(y++, help_lines[i] + HALF, A_NORMAL);
        rows -= 2;
    }
}

static void draw_table(struct state *s, int y, int rows)
{
    struct plumb_top_columns columns;
    char line[CELLS_MOST * 4];
    plumb_top_columns_choose(&columns, &s->table, s->view, COLS);
    plumb_top_line(line, sizeof line, &columns, s->view, NULL);
    put_title(y, line);
    if (s->table.count <= (size_t)(rows - 1))
        s->first = 0;
    else if (s->first > s->table.count - (size_t)(rows - 1))
        s->first = s->table.count - (size_t)(rows - 1);
    for (int i = 0; i < rows - 1 && s->first + (size_t)i < s->table.count; i++) {
        const struct plumb_top_row *row = &s->table.rows[s->first + (size_t)i];
        plumb_top_line(line, sizeof line, &columns, s->view, row);
        put_line(y + 1 + i, line, look_of(row));
    }
}

static void draw_opens(struct state *s, int y, int rows)
{
    char line[CELLS_MOST * 4];
    put_title(y, "     Age  Open spans, outermost first");
    for (int i = 0; i < rows - 1; i++) {
        if (!plumb_top_open_line(line, sizeof line, s->w, s->view, s->first + (size_t)i))
            return;
        put_line(y + 1 + i, line, A_NORMAL);
    }
}

static void foot(char *out, size_t room, const struct state *s)
{
    char shown[80], filter[96] = "", interval[16];
    plumb_top_fit(shown, sizeof shown, s->view->filter, 24, 0);
    plumb_top_time(interval, (double)s->interval_ns);
    if (s->typing)
        snprintf(filter, sizeof filter, "filter: %s_", shown);
    else if (s->view->filter[0])
        snprintf(filter, sizeof filter, "filter: %s ", shown);
    if (s->typing)
        snprintf(out, room, "%s  Enter: keep  Esc: all", filter);
    else
        snprintf(out, room, "%s%sh help  q quit  %ssort %s%s  every %s%s",
                 s->paused ? "PAUSED  " : "", s->w->busy ? "BUSY  " : "", filter,
                 plumb_top_sort_names[s->view->sort], s->view->reverse ? " (reversed)" : "",
                 interval, s->view->total ? "  since start" : "");
}

static void draw(struct state *s)
{
    char line[CELLS_MOST * 4];
    int head = LINES < 12 ? 1 : LINES < 20 ? 2 : 4, y = 0;
    erase();
    while (y < head && plumb_top_head(line, sizeof line, s->w, s->view, (size_t)y)) {
        put_line(y, line, y ? A_NORMAL : A_BOLD);
        y++;
    }
    if (s->help)
        draw_help(y, LINES - y - 1);
    else if (s->view->opens)
        draw_opens(s, y, LINES - y - 1);
    else
        draw_table(s, y, LINES - y - 1);
    foot(line, sizeof line, s);
    put_line(LINES - 1, line, has_colors() && COLOR_PAIRS >= 4 ? (attr_t)COLOR_PAIR(3) : A_DIM);
    wnoutrefresh(stdscr);
    doupdate();
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static bool make_table(struct state *s)
{
    plumb_top_table_free(&s->table);
    return plumb_top_table_make(&s->table, s->w, s->view);
}

/* Takes a key of the filter's text. */
static void type(struct state *s, int key)
{
    char *filter = s->view->filter;
    size_t n = strlen(filter);
    if (key == KEY_ESC)
        filter[0] = '\0';
    if (key == KEY_ESC || key == '\r' || key == '\n' || key == KEY_ENTER)
        s->typing = false;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n) {
        while (n && ((unsigned char)filter[--n] & 0xc0) == 0x80)
            continue;
        filter[n] = '\0';
    } else if (key >= ' ' && key < 256 && key != 127 && n + 1 < sizeof s->view->filter) {
        filter[n] = (char)key;
        filter[n + 1] = '\0';
    }
}

static void scroll_by(struct state *s, long lines)
{
    size_t most = s->view->opens ? plumb_reading_opens(s->w->now) : s->table.count;
    long first = (long)s->first + lines;
    if (first > (long)most - 1)
        first = (long)most - 1;
    s->first = first > 0 ? (size_t)first : 0;
}

static bool scroll_key(struct state *s, int key)
{
    int page = LINES > 4 ? LINES - 4 : 1;
    switch (key) {
    case KEY_UP:
    case 'k':
        scroll_by(s, -1);
        return true;
    case KEY_DOWN:
    case 'j':
        scroll_by(s, 1);
        return true;
    case KEY_PPAGE:
        scroll_by(s, -page);
        return true;
    case KEY_NPAGE:
        scroll_by(s, page);
        return true;
    case KEY_HOME:
        s->first = 0;
        return true;
    case KEY_END:
        scroll_by(s, LINES_MOST);
        return true;
    default:
        return false;
    }
}

static void change_interval(struct state *s, bool longer)
{
    static const uint64_t most = UINT64_C(60000000000), least = 100000000;
    s->interval_ns = longer ? s->interval_ns * 2 : s->interval_ns / 2;
    s->interval_ns = s->interval_ns > most ? most : s->interval_ns < least ? least : s->interval_ns;
}

/* Returns false to quit. */
static bool obey(struct state *s, int key)
{
    struct plumb_top_view *v = s->view;
    if (s->typing && key != KEY_RESIZE) {
        type(s, key);
        return true;
    }
    if (scroll_key(s, key))
        return true;
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case 's':
        v->sort = (v->sort + 1) % PLUMB_TOP_SORTS;
        break;
    case 'S':
        v->sort = (v->sort + PLUMB_TOP_SORTS - 1) % PLUMB_TOP_SORTS;
        break;
    case 'r':
        v->reverse = !v->reverse;
        break;
    case 'f':
    case '/':
        s->typing = true;
        break;
    case KEY_ESC:
        v->filter[0] = '\0';
        s->help = v->opens = false;
        break;
    case 'p':
    case ' ':
        s->paused = !s->paused;
        break;
    case 't':
        v->tree = !v->tree;
        s->first = 0;
        break;
    case 'c':
        v->total = !v->total;
        break;
    case 'o':
        v->opens = !v->opens;
        s->first = 0;
        break;
    case 'h':
    case '?':
        s->help = !s->help;
        break;
    case '+':
    case '-':
        change_interval(s, key == '+');
        break;
    default:
        break;
    }
    return true;
}

/* Returns when the next reading is due; obeys keys until then. False: the user has quit. */
static bool show_until(struct state *s, uint64_t next_ns)
{
    for (;;) {
        int key;
        if (!make_table(s))
            return false;
        draw(s);
        key = wait_key(s->paused ? now_ns() + 60000000000u : next_ns);
        if (screen.signal)
            return false;
        while (key != ERR) {
            if (!obey(s, key))
                return false;
            key = getch();
        }
        if (!s->paused && now_ns() >= next_ns)
            return true;
    }
}

int plumb_top_screen(struct plumb_top_watch *w, struct plumb_top_view *view, uint64_t interval_ns,
                     plumb_error *err)
{
    struct state s = {.w = w, .view = view, .interval_ns = interval_ns};
    /* The first interval is short: until then figures are those since the start. */
    uint64_t next = now_ns() + (interval_ns < 250000000u ? interval_ns : 250000000u);
    int rc = 0;
    if (!open_screen()) {
        snprintf(err->message, sizeof err->message, "the terminal cannot be opened");
        return PLUMB_ERR_IO;
    }
    while (rc == 0 && !w->over && show_until(&s, next)) {
        next = now_ns() + s.interval_ns;
        rc = plumb_top_read(w, err);
    }
    plumb_top_table_free(&s.table);
    close_screen();
    return rc;
}

int plumb_top_choose(const char *title, const char *const *lines, size_t n)
{
    size_t at = 0;
    int key = ERR;
    if (!open_screen())
        return -1;
    while (key != '\r' && key != '\n' && key != KEY_ENTER) {
        size_t rows = LINES > 2 ? (size_t)LINES - 2 : 1, first = at >= rows ? at - rows + 1 : 0;
        erase();
        put_title(0, title);
        for (size_t i = first; i < n && i - first < rows; i++)
            put_line((int)(1 + i - first), lines[i], i == at ? A_REVERSE : A_NORMAL);
        put_line(LINES - 1, "up down  Enter: watch  q quit", A_DIM);
        refresh();
        key = wait_key(now_ns() + 60000000000u);
        if (screen.signal || key == 'q' || key == KEY_ESC) {
            close_screen();
            return -1;
        }
        if (key == KEY_DOWN || key == 'j')
            at = at + 1 < n ? at + 1 : at;
        if (key == KEY_UP || key == 'k')
            at = at ? at - 1 : 0;
    }
    return (int)at;
}

void plumb_top_leave(void)
{
    close_screen();
}

#else

void plumb_top_leave(void)
{
}

int plumb_top_screen(struct plumb_top_watch *w, struct plumb_top_view *view, uint64_t interval_ns,
                     plumb_error *err)
{
    (void)w;
    (void)view;
    (void)interval_ns;
    (void)err;
    return PLUMB_ERR_STATE;
}

int plumb_top_choose(const char *title, const char *const *lines, size_t n)
{
    (void)title;
    (void)lines;
    return n ? -1 : -1;
}
#endif
