/* plumb.hpp: the C++ face of plumb.h. Spans end with their object; a scope left by an exception
 * counts as a failure and leaves no sample. C++11.
 *
 * Threads, costs and bounds are those of the functions of plumb.h that are named here. Nothing
 * throws but the functions that the program passes. */
#ifndef PLUMB_PLUMB_HPP
#define PLUMB_PLUMB_HPP

#include <exception>
#include <plumb/plumb.h>
#include <type_traits>
#include <utility>

namespace plumb
{

/* A span that lasts as long as the object, on the thread that made it. */
class span
{
  public:
    /* Begins a span of the point's node, as plumb_begin(). */
    explicit span(::plumb_point &point) : span_(plumb_begin(&point)), depth_(in_flight())
    {
    }
    /* Begins a span of a node of plumb_node_get(), as plumb_begin_node(). */
    explicit span(::plumb_node node) : span_(plumb_begin_node(node)), depth_(in_flight())
    {
    }
    /* Begins a span with `flags` (enum plumb_point_flags), as plumb_begin_with(). */
    span(::plumb_node node, uint32_t flags)
        : span_(flags ? plumb_begin_with(node, flags) : plumb_begin_node(node)), depth_(in_flight())
    {
    }
    /* Ends the span; it has failed if an exception leaves its block. */
    ~span()
    {
        if (in_flight() > depth_)
            plumb_span_fail(span_, "exception");
        plumb_end(span_);
    }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

    /* Returns the handle, for plumb_arg_i64() and its like; valid as long as the object. */
    ::plumb_span handle() const
    {
        return span_;
    }

    /* Returns how many exceptions are on their way through this thread; before C++17 0 or 1. */
    static int in_flight()
    {
#if defined(__cpp_lib_uncaught_exceptions) || __cplusplus >= 201703L
        return std::uncaught_exceptions();
#else
        return std::uncaught_exception() ? 1 : 0;
#endif
    }

  private:
    ::plumb_span span_;
    int depth_;
};

/* An async span, of a stage with PLUMB_POINT_STAGE: ends with the object, which may be moved to
 * another thread. One that an exception ends is a failure. */
class async
{
  public:
    /* Begins an async span, as plumb_async_begin_with(). */
    explicit async(::plumb_node node, uint32_t flags = PLUMB_POINT_PLAIN)
        : span_(flags ? plumb_async_begin_with(node, flags) : plumb_async_begin(node)),
          depth_(span::in_flight())
    {
    }
    /* Takes the open span of `other`, which has none then. */
    async(async &&other) noexcept : span_(other.release()), depth_(span::in_flight())
    {
    }
    /* Ends its own span and takes that of `other`. */
    async &operator=(async &&other) noexcept
    {
        if (this != &other) {
            end();
            span_ = other.release();
            depth_ = span::in_flight();
        }
        return *this;
    }
    async(const async &) = delete;
    async &operator=(const async &) = delete;
    /* Ends the span, unless that has been done. */
    ~async()
    {
        if (span::in_flight() > depth_)
            fail_with("exception");
        end();
    }

    /* Ends the span: a sample. A second end does nothing, as after the next three. */
    void end()
    {
        plumb_async_end(release());
    }
    /* Ends the span as a failure, without a sample; `why`: as of plumb_async_fail(). */
    void fail_with(const char *why)
    {
        plumb_async_fail(release(), why);
    }
    /* Ends the span without a sample or a failure. */
    void abandon()
    {
        plumb_async_abandon(release());
    }
    /* Returns the handle, for the caller to end by plumb_async_end(); the object has none then. */
    ::plumb_async release()
    {
        ::plumb_async mine = span_;
        span_.id = 0;
        return mine;
    }

  private:
    ::plumb_async span_;
    int depth_;
};

/* Calls f(args...) in a span of `node`. Returns what f returns. */
template <class F, class... A>
auto call(::plumb_node node, F &&f, A &&...args)
    -> decltype(std::forward<F>(f)(std::forward<A>(args)...))
{
    span s(node);
    return std::forward<F>(f)(std::forward<A>(args)...);
}

/* Calls f(args...) in a stage of `node`. Returns what f returns. */
template <class F, class... A>
auto call_stage(::plumb_node node, F &&f, A &&...args)
    -> decltype(std::forward<F>(f)(std::forward<A>(args)...))
{
    span s(node, PLUMB_POINT_STAGE);
    return std::forward<F>(f)(std::forward<A>(args)...);
}

/* A function object that runs a function in a span: what wrap() returns. */
template <class F> class wrapped
{
  public:
    /* Keeps `f` and the node called `name`, which is copied. */
    wrapped(const char *name, F f, uint32_t flags = PLUMB_POINT_PLAIN)
        : node_(plumb_node_get(name)), flags_(flags), f_(std::move(f))
    {
    }
    /* Calls f(args...) in a span. Returns what f returns. */
    template <class... A>
    auto operator()(A &&...args) -> decltype(std::declval<F &>()(std::forward<A>(args)...))
    {
        span s(node_, flags_);
        return f_(std::forward<A>(args)...);
    }

  private:
    ::plumb_node node_;
    uint32_t flags_;
    F f_;
};

/* Returns a function object that runs a copy of `f` in a span called `name`: wrap("decode", f).
 * `flags`: enum plumb_point_flags. Make it once: the node is looked up here. */
template <class F>
wrapped<typename std::decay<F>::type> wrap(const char *name, F &&f,
                                           uint32_t flags = PLUMB_POINT_PLAIN)
{
    return wrapped<typename std::decay<F>::type>(name, std::forward<F>(f), flags);
}
/* As wrap(), with a stage instead of a span. */
template <class F> wrapped<typename std::decay<F>::type> wrap_stage(const char *name, F &&f)
{
    return wrap(name, std::forward<F>(f), PLUMB_POINT_STAGE);
}

} // namespace plumb

/* A span with a name of its own, in a C++ scope. */
#define PLUMB_CXX_SPAN(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_PLAIN)
/* A stage; var.handle() is what plumb_stage_input() and its like take. */
#define PLUMB_CXX_STAGE(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_STAGE)
/* A span or a stage that is recorded only while debug is on. */
#define PLUMB_CXX_SPAN_DEBUG(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_DEBUG)
#define PLUMB_CXX_STAGE_DEBUG(var, name)                                                           \
    PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG)
#define PLUMB_CXX_SCOPE_(var, name, flags)                                                         \
    static struct plumb_point PLUMB_CAT_(var, _point_) = PLUMB_POINT_INIT(name, flags);            \
    ::plumb::span var(PLUMB_CAT_(var, _point_))

#endif
